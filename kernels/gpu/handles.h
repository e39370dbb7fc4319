// Owners of CUDA objects, each released through the table that was loaded. The context that owns
// the object must be current on the releasing thread.
#pragma once

#include <string_view>

#include "kernels/core/base/handle.h"
#include "kernels/dl/cuda.h"

namespace railgauge::gpu {

// Logs a failed release in one line on stderr and continues. A GPU that fell off the bus, or a
// kernel that faulted, makes every later call fail; the task still has its outcome to write.
void note_release(std::string_view act, cu::Return returned);

// The context that all users of a device share in this process. Older drivers have only the first
// form of the release.
struct PrimaryContextTraits {
  using Type = cu::Device;
  static Type empty() { return -1; }
  static void release(Type device) {
    const Cuda& cuda = loaded_cuda();
    note_release("release the context", cuda.primary_ctx_release_v2 != nullptr
                                            ? cuda.primary_ctx_release_v2(device)
                                            : cuda.primary_ctx_release(device));
  }
};
// A queue of work on the GPU.
struct StreamTraits {
  using Type = cu::Stream;
  static Type empty() { return nullptr; }
  static void release(Type stream) {
    note_release("destroy the stream", loaded_cuda().stream_destroy(stream));
  }
};
// A stamp in a stream.
struct EventTraits {
  using Type = cu::Event;
  static Type empty() { return nullptr; }
  static void release(Type event) {
    note_release("destroy the event", loaded_cuda().event_destroy(event));
  }
};
// Loaded device code; its functions end with it.
struct ModuleTraits {
  using Type = cu::Module;
  static Type empty() { return nullptr; }
  static void release(Type module) {
    note_release("unload the module", loaded_cuda().module_unload(module));
  }
};
// Memory of another API that CUDA imported. The function is optional in the table: only a driver
// that imports has it.
struct ExternalMemoryTraits {
  using Type = cu::ExternalMemory;
  static Type empty() { return nullptr; }
  static void release(Type memory) {
    note_release("release the imported memory", loaded_cuda().destroy_external_memory(memory));
  }
};

using PrimaryContext = Handle<PrimaryContextTraits>;
using Stream = Handle<StreamTraits>;
using Event = Handle<EventTraits>;
using Module = Handle<ModuleTraits>;
using ExternalMemory = Handle<ExternalMemoryTraits>;

}  // namespace railgauge::gpu
