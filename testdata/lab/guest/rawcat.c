/* SPDX-License-Identifier: Apache-2.0
 *
 * rawcat FROM TO: copies the pages that FROM, a trace_pipe_raw, has now, to TO.
 * A plain read would wait for more at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char page[4096];
	int in, out;
	ssize_t n;

	if (argc != 3)
		return 2;
	in = open(argv[1], O_RDONLY | O_NONBLOCK);
	out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (in < 0 || out < 0) {
		perror(in < 0 ? argv[1] : argv[2]);
		return 1;
	}
	while ((n = read(in, page, 4096)) > 0) {
		if (write(out, page, (size_t)n) != n) {
			perror(argv[2]);
			return 1;
		}
	}
	if (n < 0 && errno != EAGAIN) {
		perror(argv[1]);
		return 1;
	}
	return close(out) != 0;
}
