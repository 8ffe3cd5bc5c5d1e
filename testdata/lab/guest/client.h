/* SPDX-License-Identifier: Apache-2.0
 *
 * A client of a mockgpu node. Each function makes one ioctl and prints one line
 * of truth about it on standard output: what was asked, CLOCK_MONOTONIC before
 * and after, and the outcome.
 */
#ifndef LAB_CLIENT_H
#define LAB_CLIENT_H

#include <stdint.h>
#include <stdio.h>

#include "mockgpu_uapi.h"

struct client {
	int fd;
	const char *tag;
	const char *node;
	FILE *truth;		/* NULL: says nothing */
};

struct job {
	uint32_t ring, flags;
	uint64_t duration_ns;
	struct drm_mockgpu_sync in[MOCKGPU_MAX_IN];
	unsigned num_in;
	struct drm_mockgpu_sync out;
	uint64_t handle, context, seqno; /* set by client_submit */
};

uint64_t client_now(void);
int client_open(struct client *c, const char *node, const char *tag, FILE *truth);
/* All return 0 or -errno. */
int client_submit(struct client *c, struct job *j);
int client_wait(struct client *c, const struct job *j);		   /* by the driver's own ioctl */
int client_wait_sync(struct client *c, struct drm_mockgpu_sync s); /* by DRM's, at least until a submission is seen */
int client_vm(struct client *c, int unmap, uint64_t va, uint64_t size);
int client_alloc(struct client *c, uint64_t size, uint32_t error);
uint32_t client_syncobj(struct client *c);			   /* 0: none to be had */

#endif
