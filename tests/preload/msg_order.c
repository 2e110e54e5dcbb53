// SPDX-License-Identifier: MIT
/*
 * msg_order: which message msgrcv takes (vectors M1 and M2), the two limits of
 * a queue, and the contents of long messages.
 */
#include "msg.h"

static void send_seven(int id)
{
	static const struct {
		long type;
		const char *text;
	} seven[] = {
		{5, "a"},
		{3, "b"},
		{7, "c"},
		{3, "d"},
		{1, "e"},
		{9, "f"},
		{1, "g"},
	};

	for (int i = 0; i < 7; i++)
		t_quiet(m_send(id, seven[i].type, seven[i].text, 0) == 0);
}

static void vector_m1(void)
{
	int id = m_queue();

	t_story("M1: selection");
	send_seven(id);
	m_takes(id, 10, 0, MSG_COPY, "5:a");
	m_takes(id, 10, 1, MSG_COPY, "3:b");
	m_takes(id, 10, 4, MSG_COPY, "1:e");
	m_takes(id, 10, 6, MSG_COPY, "1:g");
	m_takes(id, 10, 7, MSG_COPY, "ENOMSG");
	m_takes(id, 10, -1, MSG_COPY, "ENOMSG");
	m_holds(id, 7, 7);
	t_true(m_stat(id).msg_lrpid == 0 && m_stat(id).msg_rtime == 0);
	m_takes(id, 10, 3, 0, "3:b");
	m_takes(id, 10, -3, 0, "1:e");
	m_takes(id, 10, -3, 0, "1:g");
	m_takes(id, 10, -3, 0, "3:d");
	m_takes(id, 10, -3, 0, "ENOMSG");
	m_takes(id, 10, 5, MSG_EXCEPT, "7:c");
	m_takes(id, 10, 0, MSG_EXCEPT, "5:a");
	m_takes(id, 10, LONG_MIN, 0, "9:f");
	m_takes(id, 10, LONG_MIN, 0, "ENOMSG");
	m_holds(id, 0, 0);
	t_story("the ends of the range of types");
	t_eq(m_send(id, LONG_MAX, "top", 0), 0);
	m_takes(id, 10, LONG_MIN + 1, 0, "9223372036854775807:top");
	t_eq(m_send(id, LONG_MAX, "top", 0), 0);
	m_takes(id, 10, -(LONG_MAX - 1), 0, "ENOMSG");
	m_takes(id, 10, LONG_MAX, 0, "9223372036854775807:top");
	m_rm(id);
}

static void sizes(void)
{
	int id = m_queue();

	t_story("too long: E2BIG and it stays, or cut");
	t_eq(m_send(id, 1, "abcdef", 0), 0);
	t_eq(m_send(id, 2, "", 0), 0);
	m_takes(id, 5, 1, 0, "E2BIG");
	m_takes(id, 5, 0, MSG_COPY, "E2BIG");
	m_takes(id, 5, 0, MSG_COPY | MSG_NOERROR, "EINVAL");
	m_holds(id, 2, 6);
	m_takes(id, 5, 1, MSG_NOERROR, "1:abcde");
	m_takes(id, 0, 0, 0, "2:");
	m_holds(id, 0, 0);
	m_rm(id);
}

static void vector_m2(void)
{
	int id = m_queue(), n = 0;

	t_story("M2: both limits");
	t_eq(m_set(id, 0, 0600, 10), 0);
	while (m_send(id, 1, "", IPC_NOWAIT) == 0)
		n++;
	t_true(n == 10 && errno == EAGAIN);
	while (m_recv(id, 0, 0, IPC_NOWAIT) == 0)
		n--;
	t_true(n == 0);
	t_eq(m_send(id, 1, "0123456789", 0), 0);
	t_eq(m_send(id, 1, "", 0), 0);
	t_err(m_send(id, 1, "x", IPC_NOWAIT), EAGAIN);
	t_eq(m_set(id, 0, 0600, 0), 0);
	m_takes(id, 10, 0, 0, "1:0123456789");
	m_takes(id, 10, 0, 0, "1:");
	t_err(m_send(id, 1, "", IPC_NOWAIT), EAGAIN);
	m_rm(id);
}

static void fill(struct m_buf *b, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		b->text[i] = (char)((i + seed) * 2654435761u >> 11);
}

/* Every length around the places where an implementation may change its way;
 * two queues, so that memory is used again by others. */
static void contents(void)
{
	static const int at[] = {0, 1, 7, 8, 9, 15, 16, 63, 64, 72, 73, 136,
		200, 328, 456, 712, 1024, 1031, 1032, 1033, 2047, 2048, 2049,
		4048, 4049, 4096, 4097, 8191, 8192};
	int q[2] = {m_queue(), m_queue()}, bad = 0;
	static struct m_buf out, in;

	t_story("contents");
	for (int round = 0; round < 40; round++)
		for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
			int id = q[(round + i) % 2], n = at[i];

			out.type = n + 1;
			fill(&out, (size_t)n, (unsigned)round);
			bad += msgsnd(id, &out, (size_t)n, 0) != 0;
			memset(&in, 0x5a, sizeof(in));
			if (round % 3 == 1) /* a look before */
				bad += msgrcv(id, &in, 8192, 0,
					       MSG_COPY | IPC_NOWAIT) != n ||
				       memcmp(in.text, out.text, (size_t)n);
			bad += msgrcv(id, &in, 8192, n + 1, 0) != n;
			bad += in.type != n + 1 ||
			       memcmp(in.text, out.text, (size_t)n);
			bad += n < 8192 && in.text[n] != 0x5a;
		}
	t_true(bad == 0);
	m_holds(q[0], 0, 0);
	m_rm(q[0]);
	m_rm(q[1]);
}

/* A model with an array: 30,000 random sends and receives on one queue. */
#define MODEL_MAX 200
static void model(void)
{
	static struct {
		long type;
		int stamp;
	} have[MODEL_MAX];
	int id = m_queue(), n = 0, bad = 0, stamp = 0;
	unsigned rng = 1;

	t_story("against a plain array");
	for (int i = 0; i < 30000; i++) {
		long type, want;
		int found = -1;

		rng = rng * 1103515245 + 12345;
		type = 1 + (long)(rng >> 16) % 30;
		rng = rng * 1103515245 + 12345;
		if (n < MODEL_MAX && (rng >> 16) % 100 < 52) {
			have[n].type = type;
			have[n].stamp = stamp;
			m_buf.type = type;
			memcpy(m_buf.text, &stamp, 4);
			bad += msgsnd(id, &m_buf, 4 + (rng >> 20) % 60,
				       IPC_NOWAIT) != 0;
			n++, stamp++;
			continue;
		}
		want = (rng >> 16) % 3 == 0   ? 0
		       : (rng >> 16) % 3 == 1 ? type
					      : -type;
		for (int j = 0; j < n; j++)
			if (want == 0 ? found < 0
				: want > 0
					? found < 0 && have[j].type == want
					: have[j].type <= -want &&
						  (found < 0 ||
							  have[j].type <
								  have[found]
									  .type))
				found = j;
		if (found < 0) {
			bad += m_recv(id, 100, want, IPC_NOWAIT) != -1 ||
			       errno != ENOMSG;
			continue;
		}
		bad += m_recv(id, 100, want, IPC_NOWAIT) < 4 ||
		       m_buf.type != have[found].type ||
		       memcmp(m_buf.text, &have[found].stamp, 4);
		memmove(&have[found], &have[found + 1],
			sizeof(have[0]) * (size_t)(--n - found));
	}
	t_true(bad == 0);
	m_rm(id);
}

int main(void)
{
	t_begin();
	vector_m1();
	sizes();
	vector_m2();
	contents();
	model();
	return m_end();
}
