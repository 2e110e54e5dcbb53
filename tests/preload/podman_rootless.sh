#!/bin/bash
# SPDX-License-Identifier: MIT
#
# podman_rootless.sh - podman.sh once more, with a podman that nobody starts.

PODMAN_USER=65534 exec bash "$(dirname "$0")/podman.sh"
