// SPDX-License-Identifier: MIT
/*
 * The machine and its load; see machine.h.
 *
 * The load average lags by a minute and counts a run of this command that has
 * just ended. What decides is the CPU time that is used in the second before.
 */
#include "tool/bench/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "tool/message.h"
#include "tool/view/table.h"

#define BUSY_CPUS 0.25 /* arbitrary: what a quiet desktop does not reach */

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double used(int whose)
{
	struct rusage u;

	getrusage(whose, &u);
	return seconds(u.ru_utime) + seconds(u.ru_stime);
}

void machine_now(struct machine_time *ret)
{
	FILE *f = fopen("/proc/stat", "re");
	double v[8] = {0}, tick = (double)sysconf(_SC_CLK_TCK);
	struct timespec t;

	/* user nice system idle iowait irq softirq steal */
	if (f && fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1],
			 &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 8)
		memset(v, 0, sizeof(v));
	if (f)
		fclose(f);
	clock_gettime(CLOCK_MONOTONIC, &t);
	ret->when = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	ret->busy = (v[0] + v[1] + v[2] + v[5] + v[6]) / tick;
	ret->steal = v[7] / tick;
	ret->own = used(RUSAGE_SELF) + used(RUSAGE_CHILDREN);
}

/* How many CPUs others have kept busy from a moment to another. */
static double machine_others(
	const struct machine_time *from, const struct machine_time *to)
{
	double cpu = to->busy - from->busy - (to->own - from->own);

	return cpu > 0 ? cpu / (to->when - from->when) : 0;
}

int machine_refuse(int forced)
{
	struct machine_time from, to;
	double others;

	machine_now(&from);
	nanosleep(&(struct timespec){1, 0}, NULL);
	machine_now(&to);
	others = machine_others(&from, &to);
	if (others <= BUSY_CPUS)
		return 0;
	failure("the machine is busy: others use %.1f of %ld CPUs%s", others,
		sysconf(_SC_NPROCESSORS_ONLN),
		forced ? "" : " (--force measures all the same)");
	return forced ? 0 : EXIT_FAILED;
}

static void cpu_name(char *ret, size_t cap)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], *name;

	snprintf(ret, cap, "?");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "model name", 10) &&
			(name = strchr(line, ':'))) {
			name[strcspn(name, "\n")] = 0;
			snprintf(ret, cap, "%s", name + 2);
			break;
		}
	if (f)
		fclose(f);
}

static void add_load(json_object *machine, const char *field)
{
	double load[1] = {0};

	if (getloadavg(load, 1) == 1)
		json_object_object_add(
			machine, field, json_object_new_double(load[0]));
}

void machine_describe(json_object *machine)
{
	struct utsname u;
	char cpu[128];

	cpu_name(cpu, sizeof(cpu));
	uname(&u);
	field_text(machine, "version", "%s", IPCLIFT_VERSION);
	field_time(machine, "date", (long long)time(NULL));
	field_text(machine, "kernel", "%s %s", u.sysname, u.release);
	field_text(machine, "cpu", "%s", cpu);
	field_int(machine, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
	add_load(machine, "load_before");
}

void machine_describe_end(json_object *machine, const struct machine_time *from)
{
	struct machine_time to;

	machine_now(&to);
	add_load(machine, "load_after");
	json_object_object_add(machine, "seconds",
		json_object_new_double(to.when - from->when));
	json_object_object_add(machine, "cpus_of_others",
		json_object_new_double(machine_others(from, &to)));
	json_object_object_add(machine, "cpus_stolen",
		json_object_new_double(
			(to.steal - from->steal) / (to.when - from->when)));
}
