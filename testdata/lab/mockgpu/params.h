/* SPDX-License-Identifier: GPL-2.0 */
/* Module parameters, set when the module is loaded; described in device.c. */
#ifndef MOCKGPU_PARAMS_H
#define MOCKGPU_PARAMS_H

#include <linux/types.h>

extern unsigned int mock_ndev;
extern unsigned int mock_timeout_ms;
extern unsigned int mock_hw_depth;
extern bool mock_emit;
extern unsigned int mock_seq_start;
extern unsigned long mock_hw_seq_start;
extern unsigned int mock_context_low;
extern unsigned int mock_truth_jobs;

#endif
