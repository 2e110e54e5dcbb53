// SPDX-License-Identifier: MIT
/* A module that makes a set (1) or says whether the set with this key exists.
 */
#include <sys/sem.h>

int app_module(int key, int create)
{
	return semget(key, 1, create ? IPC_CREAT | 0600 : 0);
}
