/* SPDX-License-Identifier: MIT */
/*
 * What libipclift has beside libc's calls, for programs that are linked with it
 * (pkg-config ipclift). libipclift(7) has the rest.
 */
#ifndef IPCLIFT_H
#define IPCLIFT_H

#ifdef __cplusplus
extern "C" {
#endif

#define IPCLIFT_MSG 1 /* id: of msgget(2) */
#define IPCLIFT_MQ 3  /* id: an mqd_t, of mq_open(3) */

/*
 * Acknowledge what the calling thread has received from a queue with leases: it
 * does not come back if the process is killed. As the thread's next receive
 * from that queue does. 0, also if there is nothing; or -1 with errno: EINVAL
 * (no such kind or id), EIDRM, EBADF.
 */
int ipclift_ack(int kind, int id);

#ifdef __cplusplus
}
#endif
#endif
