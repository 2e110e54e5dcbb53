// SPDX-License-Identifier: MIT
/*
 * app_preinit: makes a set of one semaphore with key 0x7e before any library's
 * constructor runs, that of libc, which sets `environ`, included. Exit status 0
 * if main finds it.
 */
#include <sys/ipc.h>
#include <sys/sem.h>

static int made = -1;

static void make(int argc, char **argv, char **environment)
{
	(void)argc, (void)argv, (void)environment;
	made = semget(0x7e, 1, IPC_CREAT | 0600);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(
	int, char **, char **) = make;

int main(void)
{
	return made < 0 || semget(0x7e, 1, 0) != made;
}
