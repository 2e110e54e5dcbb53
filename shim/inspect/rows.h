// SPDX-License-Identifier: MIT
/*
 * Every row type that the command prints: one list of fields each, from which
 * come its JSON, its table, the mount's file, and ipclift-json(5) with the
 * schema.
 */
#ifndef IPCLIFT_INSPECT_ROWS_H
#define IPCLIFT_INSPECT_ROWS_H

#include "inspect/column.h"
#include "registry/layout.h"

/* What ls says of an object; the rows of show's lists; of the other
 * commands. */
extern const struct column object_columns[];
/* What the mount's stat files say (column_fields). */
extern const struct column sem_stat_columns[], msg_stat_columns[],
	shm_stat_columns[];
extern const struct column sem_value_columns[], sem_holder_columns[],
	sem_sleeper_columns[];
extern const struct column msg_entry_columns[], msg_sleeper_columns[];
extern const struct column lease_columns[];
extern const struct column shm_attachment_columns[];
extern const struct column mq_entry_columns[], mq_sleeper_columns[];
extern const struct column wait_columns[], lock_columns[], task_columns[],
	event_columns[], check_columns[], registry_columns[];
/* The sheets of top (tool/view/sheet.h). */
extern const struct column top_object_columns[], top_process_columns[],
	top_lock_columns[];
/* The row of event_columns. */
struct event_view {
	const struct header *h;
	struct event event;
};

/* What a command prints with --json: rows in an array, or one. */
struct row_type {
	const char *command;
	int array;
	const struct column *columns;
};
extern const struct row_type row_types[];
extern const unsigned n_row_types;

#endif
