// SPDX-License-Identifier: MIT
/*
 * app_mpi: two ranks of MPI sum up and send to each other; says how many
 * segments of System V rank 0 has mapped by then. For openmpi.sh.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 200

/* In the kernel they are SYSV..., under the shim parts of the registry. */
static int segments(void)
{
	FILE *f = fopen("/proc/sysvipc/shm", "r");
	char line[300];
	int n = -1;

	while (f && fgets(line, sizeof(line), f))
		n++;
	if (f)
		fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	static char text[300000];
	int rank, all = 0, i, x, sum, mapped, good;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (i = 0; i < ROUNDS; i++) {
		x = rank + i;
		MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		all += sum;
		memset(text, rank ? 0 : i, sizeof(text));
		if (rank == 0)
			MPI_Send(text, sizeof(text), MPI_CHAR, 1, 0,
				MPI_COMM_WORLD);
		else
			MPI_Recv(text, sizeof(text), MPI_CHAR, 0, 0,
				MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		all += text[sizeof(text) - 1] != (char)i;
	}
	good = all == ROUNDS * ROUNDS;
	MPI_Reduce(&good, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	mapped = segments();
	if (rank == 0)
		printf("%s, %d segments\n", sum == 2 ? "good" : "bad", mapped);
	MPI_Finalize();
	return 0;
}
