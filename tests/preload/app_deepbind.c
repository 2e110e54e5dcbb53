// SPDX-License-Identifier: MIT
/*
 * app_deepbind NAME: dlopen(NAME, RTLD_DEEPBIND), let the module make a set,
 * and find it again. NAME has no slash: it is found by this program's RUNPATH
 * only, which libc takes from whoever called dlopen.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/sem.h>

int main(int argc, char **argv)
{
	int (*module)(int, int);
	void *handle;
	int id;

	if (argc != 2)
		return 2;
	if (!dlopen(NULL, RTLD_NOW) || dlopen("no-such-module.so", RTLD_NOW)) {
		printf("dlopen is not itself\n");
		return 1;
	}
	if (!dlerror()) {
		printf("no dlerror\n");
		return 1;
	}
	handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (!handle) {
		printf("%s\n", dlerror());
		return 1;
	}
	module = (int (*)(int, int))dlsym(handle, "app_module");
	id = module(0x18, 1);
	printf("module %d, program %d\n", id, semget(0x18, 0, 0));
	return id < 0 || semget(0x18, 0, 0) != id || semctl(id, 0, IPC_RMID) ||
	       dlclose(handle);
}
