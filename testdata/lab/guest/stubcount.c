/* SPDX-License-Identifier: Apache-2.0 */
/* The stub's counters of calls; its ioctls are mockengine.c's. */
#include "engine.h"
#define device_ioctl(i) count_ioctl(i) /* the function, not the enum */
#include "count.c"
