// SPDX-License-Identifier: MIT
/*
 * views: whatever a command or a file of /proc/sysvipc shows of a damaged
 * registry. The last byte of the input chooses which.
 */
#include "inspect/text.h"
#include "render/render.h"
#include "target.h"
#include "tool/command.h"

#define WORDS_MAX 5

static const struct {
	const struct command *command;
	char *words[WORDS_MAX];
} all[] = {
	{&ls_command, {"ls", "--json"}},
	{&ls_command, {"ls"}},
	{&ls_command, {"ls", "--proc", "sem"}},
	{&ls_command, {"ls", "--proc", "msg"}},
	{&ls_command, {"ls", "--proc", "shm"}},
	{&show_command, {"show", "sem", "1"}},
	{&show_command, {"show", "sem", "2"}},
	{&show_command, {"show", "--json", "msg", "0"}},
	{&show_command, {"show", "msg", "2"}},
	{&show_command, {"show", "shm", "0"}},
	{&show_command, {"show", "mq", "/many"}},
	{&show_command, {"show", "--json", "mq", "/large"}},
	{&waits_command, {"waits"}},
	{&tasks_command, {"tasks", "--json"}},
	{&locks_command, {"locks"}},
	{&events_command, {"events"}},
	{&get_command, {"get"}},
};
#define N_ALL (sizeof(all) / sizeof(all[0]))

static void view(void *arg)
{
	size_t which = *(const size_t *)arg;
	char *argv[WORDS_MAX + 1];
	int argc;

	for (argc = 0; argc < WORDS_MAX && all[which].words[argc]; argc++)
		argv[argc] = all[which].words[argc];
	argv[argc] = NULL;
	target_command(all[which].command, argc, argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t which = size ? data[size - 1] % N_ALL : 0;

	target_damage(data, size ? size - 1 : 0);
	target_run(view, &which);
	return 0;
}

size_t LLVMFuzzerCustomMutator(
	uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	if (seed % 4 == 0 || size < 1)
		return LLVMFuzzerMutate(data, size, max_size);
	size = target_add_step(data, size - 1, max_size - 1, seed);
	data[size] = (uint8_t)(seed >> 8);
	return size + 1;
}
