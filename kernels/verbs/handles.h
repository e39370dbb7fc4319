// Owners of verbs objects, each released through the table that was loaded.
#pragma once

#include "kernels/core/handle.h"
#include "kernels/dl/verbs.h"

namespace railgauge::verbs {

struct DeviceListTraits {
  using Type = ibv_device**;
  static Type empty() { return nullptr; }
  static void release(Type list) { loaded_verbs().free_device_list(list); }
};
struct ContextTraits {
  using Type = ibv_context*;
  static Type empty() { return nullptr; }
  static void release(Type context) { RG_CHECK(loaded_verbs().close_device(context) == 0); }
};
struct ProtectionDomainTraits {
  using Type = ibv_pd*;
  static Type empty() { return nullptr; }
  static void release(Type pd) { RG_CHECK(loaded_verbs().dealloc_pd(pd) == 0); }
};
struct MemoryRegionTraits {
  using Type = ibv_mr*;
  static Type empty() { return nullptr; }
  static void release(Type mr) { RG_CHECK(loaded_verbs().dereg_mr(mr) == 0); }
};
struct CompletionQueueTraits {
  using Type = ibv_cq*;
  static Type empty() { return nullptr; }
  static void release(Type cq) { RG_CHECK(loaded_verbs().destroy_cq(cq) == 0); }
};
struct QueuePairTraits {
  using Type = ibv_qp*;
  static Type empty() { return nullptr; }
  static void release(Type qp) { RG_CHECK(loaded_verbs().destroy_qp(qp) == 0); }
};

using DeviceListHandle = Handle<DeviceListTraits>;
using ContextHandle = Handle<ContextTraits>;
using ProtectionDomainHandle = Handle<ProtectionDomainTraits>;
using MemoryRegionHandle = Handle<MemoryRegionTraits>;
using CompletionQueueHandle = Handle<CompletionQueueTraits>;
using QueuePairHandle = Handle<QueuePairTraits>;

}  // namespace railgauge::verbs
