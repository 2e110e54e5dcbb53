// SPDX-License-Identifier: MIT
/*
 * Text of the control files; see sysctltext.h.
 */
#include "object/sysctltext.h"
#include "object/perm.h"
#include "base/row.h"

/* The kernel takes no more of a write than a page less one byte, and */
#define PARSED_MAX 4095u
/* no number of more than 20 characters, sign included. */
#define NUMBER_MAX 20u

const struct sysctl_file sysctl_files[] = {
	{"kernel/sem", FAC_SEM, 0644, "semmsl", 4},
	{"kernel/msgmax", FAC_MSG, 0644, "msgmax", 1},
	{"kernel/msgmnb", FAC_MSG, 0644, "msgmnb", 1},
	{"kernel/msgmni", FAC_MSG, 0644, "msgmni", 1},
	{"kernel/auto_msgmni", FAC_MSG, 0644, NULL, 0},
	{"kernel/shmmax", FAC_SHM, 0644, "shmmax", 1},
	{"kernel/shmall", FAC_SHM, 0644, "shmall", 1},
	{"kernel/shmmni", FAC_SHM, 0644, "shmmni", 1},
	{"kernel/shm_rmid_forced", FAC_SHM, 0644, "shm_rmid_forced", 1},
	{"kernel/sem_next_id", FAC_SEM, 0444, "sem_next_id", 1},
	{"kernel/msg_next_id", FAC_MSG, 0444, "msg_next_id", 1},
	{"kernel/shm_next_id", FAC_SHM, 0444, "shm_next_id", 1},
	{"fs/mqueue/queues_max", FAC_MQ, 0644, "queues_max", 1},
	{"fs/mqueue/msg_max", FAC_MQ, 0644, "msg_max", 1},
	{"fs/mqueue/msgsize_max", FAC_MQ, 0644, "msgsize_max", 1},
	{"fs/mqueue/msg_default", FAC_MQ, 0644, "msg_default", 1},
	{"fs/mqueue/msgsize_default", FAC_MQ, 0644, "msgsize_default", 1},
};
const u32 n_sysctl_files = sizeof(sysctl_files) / sizeof(sysctl_files[0]);

const struct sysctl_file *sysctl_find(const char *path)
{
	u32 i;

	for (i = 0; i < n_sysctl_files; i++)
		if (str_equal(sysctl_files[i].path, path))
			return &sysctl_files[i];
	return NULL;
}

/* ---- rights ---- */

static int may_write(struct caller *c, const struct sysctl_file *f)
{
	u32 owner = c->region.owner;
	u32 euid = perm_cred(c)->euid;

	if (f->mode & 0200)
		return euid == owner || euid == 0;
	return (owner && euid == owner) ||
	       perm_capable(c, CRED_CHECKPOINT | CRED_SYS_ADMIN);
}

int sysctl_access(struct caller *c, const struct sysctl_file *f, u32 want)
{
	return (want & PERM_W) && !may_write(c, f) ? -EACCES : 0;
}

/* ---- reading ---- */

const struct control *sysctl_control(const struct sysctl_file *f)
{
	return f->n_values ? control_find(f->control) : NULL;
}

size_t sysctl_text(
	const struct caller *c, const struct sysctl_file *f, char *buf)
{
	const struct control *k = sysctl_control(f);
	struct row r = {buf, 0};
	u32 i;

	if (!k)
		row_char(&r, '0');
	for (i = 0; i < f->n_values; i++, k++) {
		if (i)
			row_char(&r, '\t');
		if (k->size == 8)
			row_unsigned(&r, control_get(c, k), 0);
		else
			row_signed(&r, (s64)control_get(c, k), 0);
	}
	row_char(&r, '\n');
	return r.len;
}

/* ---- parsing ---- */

/* What is left of the text. */
struct input {
	const unsigned char *at;
	size_t left;
};

/* Latin-1's no-break space too. */
static int is_space(unsigned char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r') || ch == 0xa0;
}

static void skip_space(struct input *in)
{
	for (; in->left && is_space(*in->at); in->left--)
		in->at++;
}

/* -1: no digit. */
static int digit_value(unsigned char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	ch |= 0x20;
	return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/* Parse the digits at s (n characters); returns how many there are, or -EINVAL
 * if the number does not fit into 64 bits. */
static int parse_digits(const unsigned char *s, size_t n, u64 *ret)
{
	u32 base = 10;
	size_t i = 0;
	int digit;

	if (n > 1 && s[0] == '0') {
		base = 8;
		if (n > 2 && (s[1] | 0x20) == 'x' && digit_value(s[2]) >= 0) {
			base = 16;
			i = 2;
		}
	}
	for (*ret = 0; i < n; i++) {
		digit = digit_value(s[i]);
		if (digit < 0 || (u32)digit >= base)
			break;
		if (__builtin_mul_overflow(*ret, base, ret) ||
			__builtin_add_overflow(*ret, (u32)digit, ret))
			return -EINVAL;
	}
	return (int)i;
}

/* One number, which a blank, a tab, a newline or the end must follow. 0 or
 * -EINVAL. */
static int parse_number(struct input *in, u64 *ret, int *ret_negative)
{
	size_t sign = in->left > 1 && *in->at == '-', n = in->left;
	const unsigned char *s = in->at;
	int digits;

	if (n > NUMBER_MAX + 1)
		n = NUMBER_MAX + 1;
	if (sign == n || s[sign] < '0' || s[sign] > '9')
		return -EINVAL;
	digits = parse_digits(s + sign, n - sign, ret);
	if (digits < 0)
		return digits;
	n = sign + (size_t)digits;
	if (n > NUMBER_MAX ||
		(n < in->left && s[n] != ' ' && s[n] != '\t' && s[n] != '\n'))
		return -EINVAL;
	*ret_negative = (int)sign;
	in->at += n;
	in->left -= n;
	return 0;
}

/* 0, -EINVAL, -ERANGE; k NULL is auto_msgmni. *v becomes the value to store. */
static int admit(const struct caller *c, const struct sysctl_file *f,
	const struct control *k, u64 *v, int negative)
{
	if (k && k->size == 8)
		return negative ? -EINVAL : control_check(c, k, *v);
	if (*v > 2147483647u + (u64)negative)
		return -EINVAL;
	if (negative)
		*v = -*v;
	if (!k)
		return *v > 1 ? -EINVAL : 0;
	if (!control_check(c, k, *v))
		return 0;
	return f->n_values > 1 ? -ERANGE : -EINVAL;
}

s64 sysctl_parse(const struct caller *c, const struct sysctl_file *f,
	const char *text, u64 count, struct sysctl_values *ret)
{
	const struct control *k = sysctl_control(f);
	struct input in = {(const unsigned char *)text,
		count < PARSED_MAX ? count : PARSED_MAX};
	u32 most = f->n_values ? f->n_values : 1, n;
	int err, negative;

	ret->n = 0;
	for (n = 0; n < most; n++) {
		skip_space(&in);
		if (!in.left)
			break;
		err = parse_number(&in, &ret->v[n], &negative);
		if (!err)
			err = admit(
				c, f, k ? k + n : NULL, &ret->v[n], negative);
		if (err)
			return err;
		ret->n = k ? n + 1 : 0;
	}
	skip_space(&in);
	return n ? (s64)(count - in.left) : -EINVAL;
}
