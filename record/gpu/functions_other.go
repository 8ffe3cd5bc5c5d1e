package gpu

// The families of which only names are known here: class and whether the call
// may wait, no arguments.

func named(c Class, f flag, names ...string) []row {
	rows := make([]row, 0, len(names))
	for _, n := range names {
		rows = append(rows, row{n, c, f, "", nil})
	}
	return rows
}

func concat(lists ...[]row) []row {
	var rows []row
	for _, l := range lists {
		rows = append(rows, l...)
	}
	return rows
}

// hsa are the entry points of libhsa-runtime64.so.1.
func hsa() []row {
	return concat(
		named(ClassContext, blocks, "hsa_init", "hsa_shut_down"),
		named(ClassStream, blocks, "hsa_queue_create", "hsa_queue_destroy", "hsa_soft_queue_create"),
		// Doorbells among others: very hot.
		named(ClassSubmit, async, "hsa_signal_store_screlease", "hsa_signal_store_relaxed"),
		named(ClassEvent, blocks, "hsa_signal_create", "hsa_signal_destroy", "hsa_amd_signal_create", "hsa_amd_signal_async_handler"),
		named(ClassSync, blocks, "hsa_signal_wait_scacquire", "hsa_signal_wait_relaxed", "hsa_amd_signal_wait_any"),
		named(ClassMemcpy, enq, "hsa_amd_memory_async_copy", "hsa_amd_memory_async_copy_on_engine", "hsa_amd_memory_async_copy_rect"),
		named(ClassMemcpy, blocks, "hsa_memory_copy"),
		named(ClassMemset, blocks, "hsa_amd_memory_fill"),
		named(ClassAlloc, blocks, "hsa_memory_allocate", "hsa_amd_memory_pool_allocate"),
		named(ClassFree, blocks, "hsa_memory_free", "hsa_amd_memory_pool_free"),
		named(ClassMap, blocks, "hsa_amd_memory_lock", "hsa_amd_memory_unlock", "hsa_amd_agents_allow_access", "hsa_memory_register", "hsa_memory_deregister"),
		named(ClassModule, blocks, "hsa_executable_create", "hsa_executable_load_agent_code_object", "hsa_executable_freeze", "hsa_executable_destroy"),
		named(ClassGetFunction, blocks, "hsa_executable_get_symbol", "hsa_executable_get_symbol_by_name"),
	)
}

// openCL are the entry points of libOpenCL.so.1, the loader.
func openCL() []row {
	return concat(
		named(ClassLaunch, enq, "clEnqueueNDRangeKernel", "clEnqueueTask", "clEnqueueNativeKernel"),
		named(ClassMemcpy, enq, "clEnqueueReadBuffer", "clEnqueueWriteBuffer", "clEnqueueCopyBuffer", "clEnqueueReadBufferRect", "clEnqueueWriteBufferRect",
			"clEnqueueCopyBufferRect", "clEnqueueReadImage", "clEnqueueWriteImage", "clEnqueueCopyImage", "clEnqueueCopyImageToBuffer",
			"clEnqueueCopyBufferToImage", "clEnqueueSVMMemcpy", "clEnqueueMigrateMemObjects", "clEnqueueSVMMigrateMem"),
		named(ClassMemset, enq, "clEnqueueFillBuffer", "clEnqueueFillImage", "clEnqueueSVMMemFill"),
		named(ClassMap, enq, "clEnqueueMapBuffer", "clEnqueueMapImage", "clEnqueueUnmapMemObject", "clEnqueueSVMMap", "clEnqueueSVMUnmap"),
		named(ClassEvent, enq, "clEnqueueMarkerWithWaitList", "clEnqueueBarrierWithWaitList", "clEnqueueMarker", "clEnqueueBarrier", "clEnqueueWaitForEvents"),
		named(ClassSubmit, blocks, "clFlush"),
		named(ClassSync, blocks, "clFinish", "clWaitForEvents"),
		named(ClassAlloc, blocks, "clCreateBuffer", "clCreateBufferWithProperties", "clCreateImage", "clSVMAlloc"),
		named(ClassFree, blocks, "clReleaseMemObject", "clSVMFree"),
		named(ClassModule, blocks, "clCreateProgramWithSource", "clCreateProgramWithBinary", "clCreateProgramWithIL", "clBuildProgram", "clCompileProgram", "clLinkProgram", "clReleaseProgram"),
		named(ClassGetFunction, blocks, "clCreateKernel"),
		named(ClassContext, blocks, "clGetPlatformIDs", "clGetDeviceIDs", "clCreateContext", "clReleaseContext"),
		named(ClassStream, blocks, "clCreateCommandQueue", "clCreateCommandQueueWithProperties", "clReleaseCommandQueue"),
	)
}

// vulkan are entry points of libvulkan.so.1. Programs that ask
// vkGetDeviceProcAddr, most engines among them, go past the loader's exports.
func vulkan() []row {
	rows := concat(
		named(ClassSubmit, enq, "vkQueueBindSparse", "vkQueuePresentKHR"),
		named(ClassSync, blocks, "vkWaitForFences", "vkQueueWaitIdle", "vkDeviceWaitIdle", "vkAcquireNextImageKHR", "vkAcquireNextImage2KHR"),
		named(ClassAlloc, blocks, "vkAllocateMemory"),
		named(ClassFree, blocks, "vkFreeMemory"),
		named(ClassMap, blocks, "vkMapMemory", "vkUnmapMemory"),
		named(ClassContext, blocks, "vkCreateInstance", "vkDestroyInstance", "vkCreateDevice", "vkDestroyDevice"),
		named(ClassModule, blocks, "vkCreateShaderModule", "vkCreateComputePipelines", "vkCreateGraphicsPipelines"),
		named(ClassEvent, 0, "vkGetFenceStatus", "vkResetFences", "vkGetSemaphoreCounterValue", "vkSignalSemaphore"),
	)
	return append(rows,
		row{"vkQueueSubmit", ClassSubmit, enq, "", nil},
		row{"vkQueueSubmit2", ClassSubmit, enq, "- =vkQueueSubmit2KHR", nil},
		row{"vkWaitSemaphores", ClassSync, blocks, "- =vkWaitSemaphoresKHR", nil})
}

// levelZero are the entry points of libze_loader.so.1.
func levelZero() []row {
	return concat(
		named(ClassLaunch, enq, "zeCommandListAppendLaunchKernel", "zeCommandListAppendLaunchCooperativeKernel", "zeCommandListAppendLaunchKernelIndirect", "zeCommandListAppendLaunchMultipleKernelsIndirect"),
		named(ClassSubmit, enq, "zeCommandQueueExecuteCommandLists", "zeCommandListImmediateAppendCommandListsExp"),
		named(ClassMemcpy, enq, "zeCommandListAppendMemoryCopy", "zeCommandListAppendMemoryCopyRegion"),
		named(ClassMemset, enq, "zeCommandListAppendMemoryFill"),
		named(ClassSync, blocks, "zeCommandQueueSynchronize", "zeCommandListHostSynchronize", "zeEventHostSynchronize", "zeFenceHostSynchronize"),
		named(ClassEvent, enq, "zeCommandListAppendBarrier", "zeCommandListAppendSignalEvent", "zeCommandListAppendWaitOnEvents"),
		named(ClassEvent, 0, "zeEventQueryStatus", "zeFenceQueryStatus", "zeEventCreate", "zeEventDestroy"),
		named(ClassAlloc, blocks, "zeMemAllocDevice", "zeMemAllocHost", "zeMemAllocShared"),
		named(ClassFree, blocks, "zeMemFree"),
		named(ClassModule, blocks, "zeModuleCreate", "zeModuleDestroy"),
		named(ClassGetFunction, blocks, "zeKernelCreate"),
		named(ClassStream, blocks, "zeCommandQueueCreate", "zeCommandQueueDestroy", "zeCommandListCreate", "zeCommandListCreateImmediate", "zeCommandListClose", "zeCommandListReset", "zeCommandListDestroy"),
		named(ClassContext, blocks, "zeInit", "zeInitDrivers", "zeContextCreate", "zeContextDestroy"),
	)
}
