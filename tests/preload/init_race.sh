#!/bin/bash
# SPDX-License-Identifier: MIT
#
# init_race.sh - the first calls of many processes and threads at one moment make
# one registry; after forks in the middle, and creators that are killed, there is one
# that works. The scenes of app_race.c.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
for cc in gcc musl-gcc; do
	command -v $cc >/dev/null || { echo "skip: no $cc"; continue; }
	program=$(helper race $cc) || exit 1
	while read -r scene rounds; do
		check "$scene, $rounds rounds ($cc)" \
			shimmed timeout 60 "$program" "$scene" "$rounds"
	done <<-END
	processes 20
	threads 20
	forks 3
	fork_in_first 100
	kills 300
	END
done
check "the kernel is untouched" kernel_untouched
finish
