// Owners of CUDA objects, each released through the loaded table. The context that owns the object
// must be current on the releasing thread.
#pragma once

#include <string_view>

#include "kernels/core/base/handle.h"
#include "kernels/dl/cuda.h"

namespace railgauge::gpu {

// Logs a failed release in one line on stderr and continues. After a lost GPU or a faulted kernel
// every later call fails, but the task must still write its outcome.
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
using PrimaryContext = Handle<PrimaryContextTraits>;

template <class Object, auto kRelease, ActText kAct>
using CudaHandle = Handle<ReleasedByTable<Object, loaded_cuda, kRelease, note_release, kAct>>;
// A queue of work on the GPU.
using Stream = CudaHandle<cu::Stream, &Cuda::stream_destroy, "destroy the stream">;
// A stamp in a stream.
using Event = CudaHandle<cu::Event, &Cuda::event_destroy, "destroy the event">;
// Loaded device code; its functions end with it.
using Module = CudaHandle<cu::Module, &Cuda::module_unload, "unload the module">;
// Imported memory of another API. The release function is optional in the table; a driver that can
// import has it.
using ExternalMemory =
    CudaHandle<cu::ExternalMemory, &Cuda::destroy_external_memory, "release the imported memory">;

}  // namespace railgauge::gpu
