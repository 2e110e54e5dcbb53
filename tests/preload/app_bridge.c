// SPDX-License-Identifier: MIT
/*
 * app_bridge COMMAND: queues for bridge.sh and bridge_kills.sh, under the shim.
 *
 *	make msg KEY BYTES: a new queue of that size; says its id
 *	make mq NAME COUNT SIZE
 *	put KIND QUEUE: sends the messages of stdin, a line each: type or
 *		priority, a blank, the bytes in hexadecimal
 *	get KIND QUEUE N MS: receives N, and says them as put reads them; an
 *		error if there is none for so many milliseconds
 *	count KIND QUEUE: how many are in it
 *	drop KIND QUEUE: removes it
 *	write ID N MS: sends N that are numbered, over so many milliseconds
 *	read ID N SECONDS FILE: receives them until it has each once, then
 *		what comes until FILE is there, and what is left; says how
 *		many are missing, double, changed
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <time.h>
#include <unistd.h>

#define LARGEST 1100000
#define NAP_US 1000
#define BURST 500

static struct {
	long type;
	unsigned char bytes[LARGEST];
} m;
static int by_mq, id;
static mqd_t mq = -1;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void open_queue(char **argv)
{
	by_mq = !strcmp(argv[0], "mq");
	if (!by_mq)
		id = atoi(argv[1]);
	else if ((mq = mq_open(argv[1], O_RDWR)) < 0)
		die("mq_open");
}

static void make(char **argv)
{
	struct mq_attr attr = {0};
	struct msqid_ds ds;

	if (!strcmp(argv[0], "mq")) {
		attr.mq_maxmsg = atol(argv[2]);
		attr.mq_msgsize = atol(argv[3]);
		mq = mq_open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
		if (mq < 0)
			die("mq_open");
		return;
	}
	id = msgget(
		(key_t)strtoul(argv[1], NULL, 0), IPC_CREAT | IPC_EXCL | 0600);
	if (id < 0 || msgctl(id, IPC_STAT, &ds))
		die("msgget");
	ds.msg_qbytes = strtoul(argv[2], NULL, 0);
	if (msgctl(id, IPC_SET, &ds))
		die("IPC_SET");
	printf("%d\n", id);
}

static void send_one(size_t size)
{
	if (by_mq ? mq_send(mq, (char *)m.bytes, size, (unsigned)m.type)
		  : msgsnd(id, &m, size, 0))
		die("send");
}

/* -1: there is none now */
static ssize_t receive_one(void)
{
	struct timespec past = {0, 0};
	unsigned prio;
	ssize_t n;

	if (!by_mq)
		return msgrcv(id, &m, LARGEST, 0, IPC_NOWAIT);
	n = mq_timedreceive(mq, (char *)m.bytes, LARGEST, &prio, &past);
	m.type = prio;
	return n;
}

static void receive_failed(void)
{
	if (errno != ENOMSG && errno != ETIMEDOUT && errno != EINTR)
		die("receive");
}

static void put(void)
{
	char *line = NULL, *at, byte[3] = "";
	size_t cap = 0, n;

	while (getline(&line, &cap, stdin) > 0) {
		m.type = strtol(line, &at, 10);
		at += *at == ' ';
		for (n = 0; at[0] > ' ' && at[1] > ' '; at += 2) {
			memcpy(byte, at, 2);
			m.bytes[n++] = (unsigned char)strtoul(byte, NULL, 16);
		}
		send_one(n);
	}
	free(line);
}

static void get(long n, long ms)
{
	long last = now_ms();
	ssize_t size;

	while (n > 0) {
		size = receive_one();
		if (size < 0) {
			receive_failed();
			if (now_ms() - last > ms) {
				fflush(stdout);
				fprintf(stderr, "%ld are missing\n", n);
				exit(1);
			}
			usleep(NAP_US);
			continue;
		}
		printf("%ld ", m.type);
		for (ssize_t i = 0; i < size; i++)
			printf("%02x", m.bytes[i]);
		putchar('\n');
		n--;
		last = now_ms();
	}
}

static void count(void)
{
	struct mq_attr attr;
	struct msqid_ds ds;

	if (by_mq ? mq_getattr(mq, &attr) : msgctl(id, IPC_STAT, &ds))
		die("count");
	printf("%ld\n", by_mq ? attr.mq_curmsgs : (long)ds.msg_qnum);
}

/* Message i: its number, and bytes that follow from it. */
static size_t numbered(long i)
{
	size_t size = sizeof(i) + (size_t)(i * 7919 % 600);

	m.type = 1 + i % 5;
	memcpy(m.bytes, &i, sizeof(i));
	for (size_t at = sizeof(i); at < size; at++)
		m.bytes[at] = (unsigned char)((size_t)i + at);
	return size;
}

static void write_all(long n, long ms)
{
	long from = now_ms(), ahead;

	for (long i = 0; i < n; i++) {
		send_one(numbered(i));
		/* In bursts, so that the queue is full for a while. */
		ahead = i % BURST ? 0 : i * ms / n - (now_ms() - from);
		if (ahead > 0)
			usleep((unsigned)ahead * 1000);
	}
}

static int as_sent(long n, ssize_t size, long *number)
{
	static unsigned char got[LARGEST];
	long type = m.type;

	if (size < (ssize_t)sizeof(*number))
		return 0;
	memcpy(got, m.bytes, (size_t)size);
	memcpy(number, got, sizeof(*number));
	if (*number < 0 || *number >= n)
		return 0;
	return (ssize_t)numbered(*number) == size && m.type == type &&
	       !memcmp(got, m.bytes, (size_t)size);
}

static void read_all(long n, long seconds, const char *end)
{
	unsigned char *seen = calloc((size_t)n, 1);
	long until = now_ms() + seconds * 1000, number = 0;
	long missing = n, doubles = 0, changed = 0, last = 0;
	ssize_t size;

	if (!seen)
		die("calloc");
	for (;;) {
		size = receive_one();
		if (size < 0) {
			receive_failed();
			/* Twice: it may have come before FILE did. */
			if (last++ || now_ms() > until)
				break;
			if (access(end, F_OK))
				last = 0;
			usleep(NAP_US);
			continue;
		}
		last = 0;
		if (!as_sent(n, size, &number)) {
			changed++;
		} else if (seen[number]) {
			doubles++;
		} else {
			seen[number] = 1;
			if (!--missing) {
				puts("all");
				fflush(stdout);
			}
		}
	}
	printf("missing %ld double %ld changed %ld\n", missing, doubles,
		changed);
}

int main(int argc, char **argv)
{
	const char *c = argv[1];

	if (argc < 4)
		return 2;
	if (!strcmp(c, "make")) {
		make(argv + 2);
	} else if (!strcmp(c, "write") && argc == 5) {
		id = atoi(argv[2]);
		write_all(atol(argv[3]), atol(argv[4]));
	} else if (!strcmp(c, "read") && argc == 6) {
		id = atoi(argv[2]);
		read_all(atol(argv[3]), atol(argv[4]), argv[5]);
	} else if (!strcmp(c, "drop")) {
		by_mq = !strcmp(argv[2], "mq");
		if (by_mq ? mq_unlink(argv[3])
			  : msgctl(atoi(argv[3]), IPC_RMID, NULL))
			die("drop");
	} else {
		open_queue(argv + 2);
		if (!strcmp(c, "put"))
			put();
		else if (!strcmp(c, "count"))
			count();
		else if (!strcmp(c, "get") && argc == 6)
			get(atol(argv[4]), atol(argv[5]));
		else
			return 2;
	}
	return 0;
}
