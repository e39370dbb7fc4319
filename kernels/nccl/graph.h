// Calls captured once from a stream and launched as a whole: a CUDA graph.
#pragma once

#include <functional>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/cuda.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/handles.h"

namespace railgauge::nccl {

class Graph {
 public:
  // What `queue` puts onto the stream. kUnimplemented where the driver has no graphs (CUDA 11.4 is
  // the first that has what is needed). The stream captures no more, also after an error.
  static Result<Graph> capture(const gpu::Gpu& gpu, cu::Stream stream,
                               const std::function<Status()>& queue);

  explicit operator bool() const { return static_cast<bool>(executable_); }
  Status launch(const gpu::Gpu& gpu, cu::Stream stream) const;

 private:
  struct GraphTraits {
    using Type = cu::Graph;
    static Type empty() { return nullptr; }
    static void release(Type graph) {
      gpu::note_release("destroy the graph", loaded_cuda().graph_destroy(graph));
    }
  };
  struct ExecutableTraits {
    using Type = cu::GraphExec;
    static Type empty() { return nullptr; }
    static void release(Type graph) {
      gpu::note_release("destroy the executable graph", loaded_cuda().graph_exec_destroy(graph));
    }
  };

  Handle<GraphTraits> graph_;
  Handle<ExecutableTraits> executable_;
};

}  // namespace railgauge::nccl
