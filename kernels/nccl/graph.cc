#include "kernels/nccl/graph.h"

#include <fmt/format.h>

namespace railgauge::nccl {

Result<Graph> Graph::capture(const gpu::Gpu& gpu, cu::Stream stream,
                             const std::function<Status()>& queue) {
  const Cuda& cuda = loaded_cuda();
  if (cuda.stream_begin_capture == nullptr || cuda.stream_end_capture == nullptr ||
      cuda.graph_instantiate == nullptr || cuda.graph_launch == nullptr ||
      cuda.graph_destroy == nullptr || cuda.graph_exec_destroy == nullptr)
    return fail(
        Code::kUnimplemented,
        fmt::format("{}: capture a graph: driver {} cannot; CUDA 11.4 and later drivers can",
                    gpu.name(), cuda.version));
  RG_TRY_OK(gpu_status(gpu, cuda.stream_begin_capture(stream, cu::kCaptureThreadLocal),
                       "begin to capture a graph"));
  const Status queued = queue();
  cu::Graph raw = nullptr;
  const cu::Return ended = cuda.stream_end_capture(stream, &raw);
  Graph made;
  made.graph_ = Handle<GraphTraits>(raw);
  RG_TRY_OK(queued);
  RG_TRY_OK(gpu_status(gpu, ended, "capture a graph"));
  cu::GraphExec executable = nullptr;
  RG_TRY_OK(gpu_status(gpu, cuda.graph_instantiate(&executable, raw, 0), "instantiate a graph"));
  made.executable_ = Handle<ExecutableTraits>(executable);
  return made;
}

Status Graph::launch(const gpu::Gpu& gpu, cu::Stream stream) const {
  return gpu_status(gpu, loaded_cuda().graph_launch(executable_.get(), stream), "launch a graph");
}

}  // namespace railgauge::nccl
