/* SPDX-License-Identifier: Apache-2.0
 *
 * mark NAME: a line of truth that says when the script was at this point.
 */
#include <inttypes.h>
#include <unistd.h>

#include "client.h"

int main(int argc, char **argv)
{
	uint64_t now = client_now();

	if (argc != 2)
		return 2;
	printf("mark name=%s pid=%d tid=%d enter=%" PRIu64 " exit=%" PRIu64 " ret=0\n", argv[1], (int)getpid(),
	       (int)getpid(), now, now);
	return 0;
}
