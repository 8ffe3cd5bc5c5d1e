// SPDX-License-Identifier: GPL-2.0
/*
 * mockgpu: render nodes without a GPU, for tests of tracing. Jobs go through the
 * kernel's own scheduler (drm_sched), end by a real interrupt of a PCI device,
 * and leave a truth to compare traces with.
 */
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>

#include "mockgpu.h"
#include "newer.h"
#include "params.h"
#include "truth.h"

unsigned int mock_ndev = 1;
module_param_named(ndev, mock_ndev, uint, 0444);
MODULE_PARM_DESC(ndev, "devices to take, of those found");
unsigned int mock_timeout_ms = 20000;
module_param_named(timeout_ms, mock_timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "time after which a job counts as hung");
unsigned int mock_hw_depth = 4;
module_param_named(hw_depth, mock_hw_depth, uint, 0444);
MODULE_PARM_DESC(hw_depth, "jobs of a ring on the hardware at a time");
bool mock_emit;
module_param_named(emit, mock_emit, bool, 0444);
MODULE_PARM_DESC(emit, "fire dma_fence_emit for hardware fences, as few drivers do");
unsigned int mock_seq_start;
module_param_named(seq_start, mock_seq_start, uint, 0444);
MODULE_PARM_DESC(seq_start, "seqno before the first of each entity's fences (32 bits: it wraps)");
unsigned long mock_hw_seq_start;
module_param_named(hw_seq_start, mock_hw_seq_start, ulong, 0444);
MODULE_PARM_DESC(hw_seq_start, "seqno before the first of each ring's hardware fences (64 bits)");
unsigned int mock_context_low;
module_param_named(context_low, mock_context_low, uint, 0444);
MODULE_PARM_DESC(context_low, "low half of every entity's first fence context, the high halves differ (0: as they come)");
unsigned int mock_truth_jobs = 32768;
module_param_named(truth_jobs, mock_truth_jobs, uint, 0444);
MODULE_PARM_DESC(truth_jobs, "jobs that the truth has room for");

static const char *const ring_names[MOCKGPU_NUM_RINGS] = { "gfx", "compute", "sdma0" };
static unsigned int taken;	/* devices; probe and remove come one at a time */
static LIST_HEAD(devices);
static DEFINE_MUTEX(devices_lock);

const char *mock_dev_name(const struct mock_dev *md)
{
	return dev_name(md->drm.dev);
}

void mock_hold(bool hold)
{
	struct mock_dev *md;

	mutex_lock(&devices_lock);
	list_for_each_entry(md, &devices, link)
		mock_hw_hold(md, hold);
	mutex_unlock(&devices_lock);
}

static int mock_open(struct drm_device *drm, struct drm_file *file)
{
	struct mock_dev *md = to_mock_dev(drm);
	struct mock_file *mf = kzalloc(sizeof(*mf), GFP_KERNEL);
	int i, ret;

	if (!mf)
		return -ENOMEM;
#ifdef HAVE_FILE_CLIENT_ID
	mf->client_id = file->client_id;
#else
	{
		static atomic64_t ids;

		mf->client_id = atomic64_inc_return(&ids);
	}
#endif
	for (i = 0; i < MOCKGPU_NUM_RINGS; i++) {
		ret = mock_queue_init(&mf->queue[i], &md->ring[i], DRM_SCHED_PRIORITY_NORMAL);
		if (ret)
			goto fail;
	}
	file->driver_priv = mf;
	return 0;

fail:
	while (i--)
		mock_queue_fini(&mf->queue[i]);
	kfree(mf);
	return ret;
}

static void mock_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct mock_file *mf = file->driver_priv;
	int i;

	for (i = 0; i < MOCKGPU_NUM_RINGS; i++)
		mock_queue_fini(&mf->queue[i]);
	kfree(mf);
}

DEFINE_DRM_GEM_FOPS(mock_fops);

static const struct drm_driver mock_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER | DRIVER_SYNCOBJ | DRIVER_SYNCOBJ_TIMELINE,
	.open = mock_open,
	.postclose = mock_postclose,
	.ioctls = mock_ioctls,
	.num_ioctls = MOCK_NUM_IOCTLS,
	.fops = &mock_fops,
	.name = "mockgpu",
	.desc = "mock GPU for tests of tracing",
	.major = 1,
};

static irqreturn_t mock_interrupt(int irq, void *data)
{
	struct mock_dev *md = data;
	u32 status = ioread32(md->regs + EDU_IRQ_STATUS);

	truth_interrupt();
	if (!status)
		return IRQ_NONE;
	iowrite32(status, md->regs + EDU_IRQ_ACK);	/* what ends from here on raises it again */
	mock_hw_interrupt(md);
	return IRQ_HANDLED;
}

static int mock_interrupt_init(struct mock_dev *md, struct pci_dev *pdev)
{
	int ret = pcim_enable_device(pdev);

	if (!ret)
		ret = pcim_iomap_regions(pdev, BIT(0), "mockgpu");
	if (ret)
		return ret;
	md->regs = pcim_iomap_table(pdev)[0];
	pci_set_master(pdev);	/* a message-signalled interrupt is a write by the device */
	ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (ret < 0)
		return ret;
	md->irq = pci_irq_vector(pdev, 0);
	ret = request_irq(md->irq, mock_interrupt, IRQF_SHARED, "mockgpu", md);
	if (ret)
		pci_free_irq_vectors(pdev);
	return ret;
}

static void mock_interrupt_fini(struct mock_dev *md, struct pci_dev *pdev)
{
	free_irq(md->irq, md);
	pci_free_irq_vectors(pdev);
}

static int mock_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct mock_dev *md;
	int i, ret;

	if (taken >= mock_ndev)
		return -ENODEV;
	md = devm_drm_dev_alloc(&pdev->dev, &mock_driver, struct mock_dev, drm);
	if (IS_ERR(md))
		return PTR_ERR(md);
	pci_set_drvdata(pdev, md);
	for (i = 0; i < MOCKGPU_NUM_RINGS; i++) {
		ret = mock_ring_init(&md->ring[i], ring_names[i], &pdev->dev);
		if (ret)
			goto rings;
	}
	ret = mock_queue_init(&md->kernel, &md->ring[MOCKGPU_RING_SDMA], DRM_SCHED_PRIORITY_KERNEL);
	if (ret)
		goto rings;
	ret = mock_interrupt_init(md, pdev);
	if (ret)
		goto queue;
	ret = drm_dev_register(&md->drm, 0);
	if (ret)
		goto irq;
	taken++;
	mutex_lock(&devices_lock);
	list_add_tail(&md->link, &devices);
	mutex_unlock(&devices_lock);
	return 0;

irq:
	mock_interrupt_fini(md, pdev);
queue:
	mock_queue_fini(&md->kernel);
rings:
	while (i--)
		drm_sched_fini(&md->ring[i].sched);
	return ret;
}

static void mock_remove(struct pci_dev *pdev)
{
	struct mock_dev *md = pci_get_drvdata(pdev);
	int i;

	mutex_lock(&devices_lock);
	list_del(&md->link);
	mutex_unlock(&devices_lock);
	drm_dev_unregister(&md->drm);
	mock_queue_fini(&md->kernel);
	for (i = 0; i < MOCKGPU_NUM_RINGS; i++)
		drm_sched_fini(&md->ring[i].sched);
	mock_interrupt_fini(md, pdev);
	taken--;
}

static const struct pci_device_id mock_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },	/* QEMU's "edu" */
	{}
};
MODULE_DEVICE_TABLE(pci, mock_ids);

static struct pci_driver mock_pci_driver = {
	.name = "mockgpu",
	.id_table = mock_ids,
	.probe = mock_probe,
	.remove = mock_remove,
};

static int __init mock_init(void)
{
	int ret = truth_init();

	if (ret)
		return ret;
	ret = newer_init();
	if (ret)
		goto truth;
	ret = pci_register_driver(&mock_pci_driver);
	if (ret)
		goto newer;
	return 0;

newer:
	newer_exit();
truth:
	truth_exit();
	return ret;
}

static void __exit mock_exit(void)
{
	pci_unregister_driver(&mock_pci_driver);
	newer_exit();
	truth_exit();
}

module_init(mock_init);
module_exit(mock_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mock GPU on drm_sched for tests of tracing");
