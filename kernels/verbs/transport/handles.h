// Owners of verbs objects, each released through the loaded table.
#pragma once

#include <string_view>

#include "kernels/core/base/handle.h"
#include "kernels/dl/verbs.h"

namespace railgauge::verbs {

// Logs a failed release in one line on stderr and continues. A vanished device answers releases
// with an error, and the task must still write its outcome. `error` is the release's result.
void note_release(std::string_view act, int error);

// `kRelease` is a slot of the table that returns 0 or an error; `kAct` appears in the log line.
template <class Object, auto kRelease, ActText kAct>
using VerbsHandle = Handle<ReleasedByTable<Object*, loaded_verbs, kRelease, note_release, kAct>>;

using DeviceListHandle =
    Handle<ReleasedByTable<ibv_device**, loaded_verbs, &Verbs::free_device_list>>;
using ContextHandle = VerbsHandle<ibv_context, &Verbs::close_device, "close the device">;
using ProtectionDomainHandle =
    VerbsHandle<ibv_pd, &Verbs::dealloc_pd, "release the protection domain">;
using MemoryRegionHandle = VerbsHandle<ibv_mr, &Verbs::dereg_mr, "deregister memory">;
using CompletionQueueHandle =
    VerbsHandle<ibv_cq, &Verbs::destroy_cq, "destroy the completion queue">;
using QueuePairHandle = VerbsHandle<ibv_qp, &Verbs::destroy_qp, "destroy the queue pair">;
using ChannelHandle =
    VerbsHandle<ibv_comp_channel, &Verbs::destroy_channel, "destroy the completion channel">;
using SharedReceivesHandle =
    VerbsHandle<ibv_srq, &Verbs::destroy_srq, "destroy the shared receive queue">;
using AddressHandle = VerbsHandle<ibv_ah, &Verbs::destroy_ah, "destroy the address handle">;

}  // namespace railgauge::verbs
