// SPDX-License-Identifier: MIT
/*
 * linked.c - a program as its author writes it; linked with libipclift
 * (linked.sh) it is served without LD_PRELOAD. Makes one object of each kind.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

int main(void)
{
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};

	if (semget(0x11c0, 1, IPC_CREAT | 0600) < 0 ||
		msgget(0x11c1, IPC_CREAT | 0600) < 0 ||
		shmget(0x11c2, 1, IPC_CREAT | 0600) < 0 ||
		mq_open("/linked", O_CREAT | O_RDWR, 0600, &attr) < 0) {
		perror("linked");
		return 1;
	}
	return 0;
}
