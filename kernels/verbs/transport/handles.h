// Owners of verbs objects, each released through the table that was loaded.
#pragma once

#include <string_view>

#include "kernels/core/base/handle.h"
#include "kernels/dl/verbs.h"

namespace railgauge::verbs {

// A device that vanished answers releases with an error. Nothing can be done about it, and the task
// still has its outcome to write: one line on stderr, and on. `error` as the release gave it.
void note_release(std::string_view act, int error);

// Each of the traits owns one kind of object; a handle releases it exactly once.
struct DeviceListTraits {
  using Type = ibv_device**;
  static Type empty() { return nullptr; }
  static void release(Type list) { loaded_verbs().free_device_list(list); }
};
struct ContextTraits {
  using Type = ibv_context*;
  static Type empty() { return nullptr; }
  static void release(Type context) {
    note_release("close the device", loaded_verbs().close_device(context));
  }
};
struct ProtectionDomainTraits {
  using Type = ibv_pd*;
  static Type empty() { return nullptr; }
  static void release(Type pd) {
    note_release("release the protection domain", loaded_verbs().dealloc_pd(pd));
  }
};
struct MemoryRegionTraits {
  using Type = ibv_mr*;
  static Type empty() { return nullptr; }
  static void release(Type mr) { note_release("deregister memory", loaded_verbs().dereg_mr(mr)); }
};
struct CompletionQueueTraits {
  using Type = ibv_cq*;
  static Type empty() { return nullptr; }
  static void release(Type cq) {
    note_release("destroy the completion queue", loaded_verbs().destroy_cq(cq));
  }
};
struct QueuePairTraits {
  using Type = ibv_qp*;
  static Type empty() { return nullptr; }
  static void release(Type qp) {
    note_release("destroy the queue pair", loaded_verbs().destroy_qp(qp));
  }
};

struct ChannelTraits {
  using Type = ibv_comp_channel*;
  static Type empty() { return nullptr; }
  static void release(Type channel) {
    note_release("destroy the completion channel", loaded_verbs().destroy_channel(channel));
  }
};
struct SharedReceivesTraits {
  using Type = ibv_srq*;
  static Type empty() { return nullptr; }
  static void release(Type srq) {
    note_release("destroy the shared receive queue", loaded_verbs().destroy_srq(srq));
  }
};
struct AddressTraits {
  using Type = ibv_ah*;
  static Type empty() { return nullptr; }
  static void release(Type ah) {
    note_release("destroy the address handle", loaded_verbs().destroy_ah(ah));
  }
};

using DeviceListHandle = Handle<DeviceListTraits>;
using ContextHandle = Handle<ContextTraits>;
using ProtectionDomainHandle = Handle<ProtectionDomainTraits>;
using MemoryRegionHandle = Handle<MemoryRegionTraits>;
using CompletionQueueHandle = Handle<CompletionQueueTraits>;
using QueuePairHandle = Handle<QueuePairTraits>;
using ChannelHandle = Handle<ChannelTraits>;
using SharedReceivesHandle = Handle<SharedReceivesTraits>;
using AddressHandle = Handle<AddressTraits>;

}  // namespace railgauge::verbs
