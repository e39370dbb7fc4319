// Queues work onto a stream, stamps it with events, and waits for events in a way that another
// thread can stop.
#include "kernels/nccl/stage.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "kernels/core/text/units.h"
#include "kernels/gpu/timing.h"
#include "kernels/nccl/proof.h"

namespace railgauge::nccl {
namespace {

// The input of a size differs from that of the size before by its seed.
constexpr std::uint64_t kSeed = 0x5eed;
// Duration of polling an event without sleep, so that no sleep is in times by the CPU's clock.
constexpr double kSpinNs = 2e6;
// Within a measured wait: half a second without a nap, since a nap would be part of the figure.
constexpr double kTimedSpinNs = 5e8;
constexpr std::chrono::microseconds kNap{50};
// Parts of results that one check of the timed calls' data reads at most: some 10 ms on a GPU.
constexpr std::uint64_t kMostChecks = 256;

}  // namespace

BufferKind kind_of_buffers(std::string_view word) {
  if (word == "symmetric") return BufferKind::kSymmetric;
  if (word == "allocated") return BufferKind::kAllocated;
  return word == "true" ? BufferKind::kRegistered : BufferKind::kPlain;
}

const char* words_of(BufferKind kind) {
  if (kind == BufferKind::kSymmetric) return "by NCCL, a window of all ranks";
  if (kind == BufferKind::kAllocated) return "by NCCL";
  return kind == BufferKind::kRegistered ? "by NCCL, registered" : "by CUDA";
}

BufferKind kind_here(BufferKind asked, const Nccl& nccl) {
  const bool can = nccl.mem_alloc != nullptr && nccl.mem_free != nullptr;
  return asked == BufferKind::kAllocated && !can ? BufferKind::kPlain : asked;
}

std::string registration_words(BufferKind kind, bool is_graph, const Nccl& nccl) {
  if (kind == BufferKind::kPlain)
    return fmt::format("no (NCCL {} has no ncclMemAlloc; 2.19 and later have)", nccl.version);
  return is_graph ? "by NCCL, when it captures the graph, unless NCCL_GRAPH_REGISTER is 0"
                  : "no (NCCL registers such memory only when it captures a graph)";
}

Stage::Stage(const gpu::Gpu& gpu, const TickClock& clock, const Operation& operation,
             const Plan& plan, Communicator& comm, Progress& progress)
    : gpu_(&gpu),
      clock_(&clock),
      operation_(&operation),
      plan_(plan),
      comm_(&comm),
      progress_(&progress) {}

// Aborts the communicator first: only then does a kernel that waits for a lost rank end, and its
// memory can be freed. A stage whose creation failed has queued nothing, and its watcher still
// checks the communicator's health.
Stage::~Stage() {
  if (whole_) give_up();
}

// The order matters: the graph holds work of the communicator, registrations belong to it.
void Stage::give_up() {
  static_cast<void>(gpu_->make_current());
  graph_ = {};
  proof_graph_ = {};
  for (Buffer* buffer : {&send_, &receive_}) buffer->deregister();
  *comm_ = {};
}

// A failure on the way leaves whole_ false, so that the destructor does not abort a communicator
// whose ranks still have to agree on the error.
Result<std::unique_ptr<Stage>> Stage::create(const gpu::Gpu& gpu, const TickClock& clock,
                                             const Operation& operation, const Plan& plan,
                                             Communicator& comm, Progress& progress,
                                             const std::vector<std::uint64_t>& counts) {
  std::unique_ptr<Stage> stage(new Stage(gpu, clock, operation, plan, comm, progress));
  RG_TRY_OK(stage->allocate(counts));
  if (plan.verify) stage->data_ = RG_TRY(Data::create(gpu));
  stage->stream_ = RG_TRY(gpu::make_stream(gpu));
  // One event more than samples: the first one is the beginning.
  for (std::uint64_t i = 0; i <= kMaxBatch; ++i)
    stage->events_.push_back(RG_TRY(gpu::make_event(gpu)));
  stage->whole_ = true;
  return stage;
}

// A rank without memory would leave the others waiting in the registration, so they agree on that
// before (CollectiveBench::set_stage).
Status Stage::register_windows() {
  RG_TRY_OK(send_.register_window(*gpu_, *comm_));
  return plan_.in_place ? Status{} : receive_.register_window(*gpu_, *comm_);
}

// This rank's part of a call with shares of `count` elements.
Share Stage::share(std::uint64_t count) const { return share_of(plan_, plan_.rank, count); }

// In place both directions share one buffer of the larger size. The slots of a proof are in the
// buffers of the timed calls: some MiB where messages are small.
Status Stage::allocate(const std::vector<std::uint64_t>& counts) {
  const std::uint64_t bytes = bytes_of(plan_.type);
  std::uint64_t send = 0;
  std::uint64_t receive = 0;
  for (const std::uint64_t count : counts) {
    const Share share = this->share(count);
    const ProofShape shape = plan_.verify ? proof_shape(*operation_, plan_, count) : ProofShape{};
    const std::uint64_t place = place_bytes(*operation_, plan_, count);
    const std::uint64_t before =
        std::max((shape.slots - 1) * shape.stride_bytes, (places_of(plan_, place) - 1) * place);
    // Symmetric memory is equally long on all ranks.
    const std::uint64_t all = plan_.buffers == BufferKind::kSymmetric ? place : 0;
    if (const std::uint64_t own = std::max(operation_->send_count(share) * bytes, all); own > 0)
      send = std::max(send, before + own);
    if (const std::uint64_t own = std::max(operation_->receive_count(share) * bytes, all); own > 0)
      receive = std::max(receive, before + own);
  }
  const auto make = [this](std::uint64_t size) {
    if (plan_.buffers == BufferKind::kSymmetric) return Buffer::symmetric(*gpu_, size);
    if (plan_.buffers == BufferKind::kAllocated) return Buffer::allocated(*gpu_, size);
    return plan_.buffers == BufferKind::kRegistered ? Buffer::registered(*gpu_, *comm_, size)
                                                    : Buffer::plain(*gpu_, size);
  };
  send_ = RG_TRY(make(plan_.in_place ? std::max(send, receive) : send));
  if (!plan_.in_place) receive_ = RG_TRY(make(receive));
  aligner_ = RG_TRY(Buffer::plain(*gpu_, sizeof(float)));
  return gpu_status(*gpu_, loaded_cuda().memset_d8(aligner_.data(), 0, sizeof(float)),
                    "clear the buffer that aligns the ranks");
}

// In place the smaller buffer begins at own_offset() inside the larger one, as NCCL documents for
// in-place calls.
Call Stage::call_at(std::uint64_t bytes) const {
  Call call = call_;
  cu::DevicePtr send = send_.data() + bytes;
  cu::DevicePtr receive = receive_.data() + bytes;
  if (plan_.in_place) {
    const std::uint64_t offset = operation_->own_offset(call.share) * call.element_bytes;
    const bool receives_more =
        operation_->receive_count(call.share) > operation_->send_count(call.share);
    receive = send + (receives_more ? 0 : offset);
    send += receives_more ? offset : 0;
  }
  call.send = pointer_to(send);
  call.receive = pointer_to(receive);
  return call;
}

// The first call of a size may open connections, so it is made and waited for here.
Status Stage::begin_size(std::uint64_t count) {
  const Share share = this->share(count);
  const std::uint64_t bytes = bytes_of(plan_.type);
  values_ = {.type = plan_.type,
             .reduced = operation_->reduces,
             .reduction = plan_.reduction,
             .seed = seed_of_size(count),
             .ranks = plan_.ranks};
  call_ = {.share = share,
           .type = plan_.type,
           .reduction = plan_.reduction,
           .comm = comm_->get(),
           .stream = stream_.get(),
           .element_bytes = bytes};
  stride_bytes_ = proof_shape(*operation_, plan_, count).stride_bytes;
  segments_ = operation_->result(share);
  call_ = call_at(0);
  place_bytes_ = place_bytes(*operation_, plan_, count);
  places_ = places_of(plan_, place_bytes_);
  next_place_ = 0;
  graph_ = {};
  proof_graph_ = {};
  fills_ = 0;
  RG_TRY_OK(reset_data());
  RG_TRY_OK(align());
  RG_TRY_OK(queue_call());
  RG_TRY_OK(stamp(0));
  RG_TRY_OK(wait(0, "first call", kSpinNs));
  return plan_.graph_calls == 0 ? Status{} : capture();
}

// The same calls as queue_call() makes, recorded once: each launch moves through the same places.
Status Stage::capture() {
  next_place_ = 0;
  graph_ = RG_TRY(Graph::capture(*gpu_, stream_.get(), [this]() -> Status {
    for (std::uint64_t i = 0; i < plan_.graph_calls; ++i) RG_TRY_OK(queue_call());
    return {};
  }));
  used_places_ = 0;  // nothing ran yet
  return {};
}

// One fill for all places, so that the input of a place begins where that of the place before ends.
// Without verification the send buffer is cleared, so that its content is known.
Status Stage::reset_data() {
  const std::uint64_t before = (places_ - 1) * place_bytes_;
  const std::uint64_t received = operation_->receive_count(call_.share) * call_.element_bytes;
  const Cuda& cuda = loaded_cuda();
  used_places_ = 0;
  // Data of the warm-up, or of an earlier verification, must not pass for a later call's.
  values_.seed = seed_of_size(call_.share.count) + (fills_++ << 48U);
  if (received > 0)
    RG_TRY_OK(gpu_status(*gpu_,
                         cuda.memset_d8(address_of(call_.receive), kPoison, before + received),
                         "make the receive buffer wrong"));
  const std::uint64_t sent = operation_->send_count(call_.share) * call_.element_bytes;
  if (data_ && sent > 0)
    RG_TRY_OK(data_->fill(address_of(call_.send), (before + sent) / call_.element_bytes, values_,
                          plan_.rank));
  else if (sent > 0)
    RG_TRY_OK(gpu_status(*gpu_, cuda.memset_d8(address_of(call_.send), 0, before + sent),
                         "clear the send buffer"));
  // On ranks that send nothing too: the calls' stream does not wait for what clears.
  return gpu_status(*gpu_, cuda.stream_synchronize(nullptr), "wait for the fresh buffers");
}

std::uint64_t Stage::seed_of_size(std::uint64_t count) const {
  constexpr std::uint64_t kGroupSpread = 0x9e3779b97f4a7c15U;
  return (kSeed + count) ^ (plan_.color * kGroupSpread >> 20U);
}

// For messages.
std::string Stage::what() const {
  return fmt::format("{} of {} elements a share", operation_->name, call_.share.count);
}

// A call that continues in the background is waited for by the communicator; one in a group cannot
// be, before the group has ended.
Status Stage::queue_one() {
  const nc::Return returned =
      operation_->enqueue(loaded_nccl(), call_at(next_place_ * place_bytes_));
  next_place_ = (next_place_ + 1) % places_;
  used_places_ = std::min(used_places_ + 1, places_);
  return queued(returned);
}

// The driver names what NCCL calls an unhandled CUDA error. The question is legal in a capture.
Status Stage::queued(nc::Return returned) {
  if (returned == nc::kSuccess || (returned == nc::kInProgress && plan_.aggregate > 1)) return {};
  const std::string act = gpu_->name() + ": " + what();
  if (returned == nc::kUnhandledCudaError) {
    std::size_t free = 0;
    std::size_t total = 0;
    RG_TRY_OK(cuda_status(loaded_cuda(), loaded_cuda().mem_get_info(&free, &total), act));
  }
  return comm_->done(returned, act);
}

Status Stage::queue_call() {
  return in_group([this]() -> Status {
    for (std::uint64_t i = 0; i < plan_.aggregate; ++i) RG_TRY_OK(queue_one());
    return {};
  });
}

// The group is closed after an error too; the first error counts.
Status Stage::in_group(const std::function<Status()>& queue) {
  if (plan_.aggregate == 1) return queue();
  const Nccl& nccl = loaded_nccl();
  const std::string act = gpu_->name() + ": " + what() + ": a group of calls";
  RG_TRY_OK(nccl_status(nccl, nccl.group_start(), act, comm_->get()));
  Status queued = queue();
  const nc::Return ended = nccl.group_end();
  if (!queued) return queued;
  return comm_->done(ended, act);
}

// One launch of the graph, or one call.
Status Stage::queue_sample() {
  if (!graph_) return queue_call();
  next_place_ = calls_in_sample() % places_;
  used_places_ = std::min(calls_in_sample(), places_);
  return graph_.launch(*gpu_, stream_.get());
}

// Runs a tiny all-reduce, after which the ranks' streams continue within microseconds of each
// other; the rendezvous leaves them milliseconds apart. Groups begin together too: it is a call of
// all ranks.
Status Stage::align() {
  if (plan_.ranks * plan_.groups == 1) return {};
  const Nccl& nccl = loaded_nccl();
  void* word = pointer_to(aligner_.data());
  const nc::Return returned =
      nccl.all_reduce(word, word, 1, nc::kFloat32, nc::kSum, comm_->whole(), stream_.get());
  return comm_->whole_done(returned, gpu_->name() + ": align the ranks");
}

// cuEventRecord: the GPU writes its time when all earlier work of the stream is done.
Status Stage::stamp(std::size_t event) {
  return gpu_status(*gpu_, loaded_cuda().event_record(events_[event].get(), stream_.get()),
                    "stamp");
}

// Polls instead of cuEventSynchronize, which could not be stopped. Every finished event is a beat.
Status Stage::wait(std::size_t event, std::string_view act, double spin_ns) {
  const auto words = [&] { return fmt::format("{}: {}: {}", gpu_->name(), what(), act); };
  const double spin_until_ns = monotonic_now_ns() + spin_ns;
  while (true) {
    const cu::Return returned = loaded_cuda().event_query(events_[event].get());
    if (returned == cu::kSuccess) {
      progress_->beat();
      return {};
    }
    if (returned != cu::kNotReady) return cuda_status(loaded_cuda(), returned, words());
    if (progress_->stopped()) return progress_->stopped_at(words());
    if (monotonic_now_ns() < spin_until_ns)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kNap);
  }
}

// Makes one call before the first stamp, which is launched while the others are queued. After it
// only calls and, once a sample, a stamp are queued. Delays of the host show only when the GPU is
// faster than the queueing, as in every loop of such calls.
Status Stage::batch(std::uint64_t count, std::uint64_t repeat, std::vector<double>& samples_ns) {
  RG_CHECK(count <= kMaxBatch && repeat > 0);
  RG_TRY_OK(align());
  RG_TRY_OK(queue_sample());
  RG_TRY_OK(stamp(0));
  for (std::size_t i = 1; i <= count; ++i) {
    for (std::uint64_t call = 0; call < repeat; ++call) RG_TRY_OK(queue_sample());
    RG_TRY_OK(stamp(i));
  }
  const auto calls = static_cast<double>(repeat * calls_in_sample());
  for (std::size_t i = 1; i <= count; ++i) {
    RG_TRY_OK(wait(i, fmt::format("sample {} of {}", i, count), kSpinNs));
    float milliseconds = 0;
    RG_TRY_OK(gpu_status(
        *gpu_,
        loaded_cuda().event_elapsed_time(&milliseconds, events_[i - 1].get(), events_[i].get()),
        "read the stamps"));
    samples_ns.push_back(static_cast<double>(milliseconds) * 1e6 / calls);
  }
  return {};
}

// nccl-tests' own way: the host's clock around calls in a row, the ranks aligned before.
Status Stage::wall(std::uint64_t count, std::vector<double>& samples_ns) {
  RG_TRY_OK(align());
  RG_TRY_OK(queue_sample());
  RG_TRY_OK(stamp(0));
  RG_TRY_OK(wait(0, "before the clock starts", kTimedSpinNs));
  const std::uint64_t begin = clock_->ticks();
  for (std::uint64_t i = 0; i < count; ++i) RG_TRY_OK(queue_sample());
  RG_TRY_OK(stamp(1));
  RG_TRY_OK(wait(1, "iterations in a row", kTimedSpinNs));
  const double took_ns = clock_->to_ns(clock_->ticks() - begin);
  samples_ns.push_back(took_ns / static_cast<double>(count * calls_in_sample()));
  return {};
}

// Used where the choice of NCCL is learnt, outside of samples.
Status Stage::call() {
  RG_TRY_OK(queue_call());
  RG_TRY_OK(stamp(0));
  return wait(0, "a call", kSpinNs);
}

Status Stage::call_to_verify() {
  // Several calls in a row would reduce in place again and again.
  RG_TRY_OK(plan_.in_place && operation_->reduces ? in_group([this] { return queue_one(); })
                                                  : queue_sample());
  RG_TRY_OK(stamp(0));
  return wait(0, "call to verify", kSpinNs);
}

// Compares on the GPU, rank by rank alone, from the last call backwards.
Status Stage::check_data() {
  const std::uint64_t most =
      std::max<std::uint64_t>(1, kMostChecks / std::max<std::size_t>(1, segments_.size()));
  const std::string words = fmt::format("{}: rank {}: {}", gpu_->name(), plan_.rank, what());
  for (std::uint64_t back = 1; back <= std::min(used_places_, most); ++back) {
    const std::uint64_t offset = (next_place_ + places_ - back) % places_ * place_bytes_;
    std::vector<Segment> parts = segments_;
    for (Segment& part : parts) part.first += offset / call_.element_bytes;
    RG_TRY_OK(data_->verify(address_of(call_at(offset).receive), parts, values_, words));
  }
  return {};
}

// Registrations end before the communicator that they belong to.
Status Stage::finish() {
  graph_ = {};
  proof_graph_ = {};
  for (Buffer* buffer : {&send_, &receive_}) buffer->deregister();
  return comm_->finish();
}

Result<Buffer> Buffer::plain(const gpu::Gpu& gpu, std::uint64_t bytes) {
  Buffer buffer;
  buffer.plain_ = RG_TRY(GpuBuffer::allocate(gpu.name(), std::max<std::uint64_t>(bytes, 1)));
  buffer.data_ = buffer.plain_.data();
  return buffer;
}

Result<Buffer> Buffer::allocated(const gpu::Gpu& gpu, std::uint64_t bytes) {
  const Nccl& nccl = loaded_nccl();
  if (nccl.mem_alloc == nullptr || nccl.mem_free == nullptr)
    return fail(Code::kUnimplemented, "{}: allocate by NCCL: NCCL {} cannot; 2.19 and later can",
                gpu.name(), nccl.version);
  return by_nccl(gpu, std::max<std::uint64_t>(bytes, 1));
}

Result<Buffer> Buffer::registered(const gpu::Gpu& gpu, const Communicator& comm,
                                  std::uint64_t bytes) {
  const Nccl& nccl = loaded_nccl();
  if (nccl.mem_alloc == nullptr || nccl.mem_free == nullptr || nccl.comm_register == nullptr ||
      nccl.comm_deregister == nullptr)
    return fail(Code::kUnimplemented, "{}: register memory: NCCL {} cannot; 2.19 and later can",
                gpu.name(), nccl.version);
  const std::uint64_t size = std::max<std::uint64_t>(bytes, 1);
  Buffer buffer = RG_TRY(by_nccl(gpu, size));
  void* raw = buffer.memory_.get();
  void* handle = nullptr;
  RG_TRY_OK(nccl_status(nccl, nccl.comm_register(comm.get(), raw, size, &handle),
                        fmt::format("{}: register {}", gpu.name(), canonical_bytes(size)),
                        comm.get()));
  // NCCL gives no handle where it has nothing to do with the memory.
  if (handle != nullptr) buffer.registration_ = Handle<RegistrationTraits>({comm.get(), handle});
  return buffer;
}

Result<Buffer> Buffer::symmetric(const gpu::Gpu& gpu, std::uint64_t bytes) {
  const Nccl& nccl = loaded_nccl();
  if (nccl.mem_alloc == nullptr || nccl.mem_free == nullptr || nccl.window_register == nullptr ||
      nccl.window_deregister == nullptr)
    return fail(Code::kUnimplemented, "{}: register a window: NCCL {} cannot; 2.27 and later can",
                gpu.name(), nccl.version);
  const std::uint64_t size = std::max<std::uint64_t>(bytes, 1);
  Buffer buffer = RG_TRY(by_nccl(gpu, size));
  buffer.size_ = size;
  return buffer;
}

// Without a window the calls would be those of plain memory: that is no figure of symmetric memory.
Status Buffer::register_window(const gpu::Gpu& gpu, const Communicator& comm) {
  nc::Window window = nullptr;
  const std::string act =
      fmt::format("{}: register a window of {}", gpu.name(), canonical_bytes(size_));
  RG_TRY_OK(comm.done(loaded_nccl().window_register(comm.get(), memory_.get(), size_, &window,
                                                    nc::kWindowSymmetric),
                      act));
  if (window == nullptr)
    return fail(Code::kFailedPrecondition,
                "{}: NCCL gave none: the ranks' GPUs do not reach each other's memory, or "
                "NCCL_WIN_ENABLE or NCCL_CUMEM_ENABLE is 0",
                act);
  window_ = Handle<WindowTraits>({comm.get(), window});
  return {};
}

Result<Buffer> Buffer::by_nccl(const gpu::Gpu& gpu, std::uint64_t bytes) {
  const Nccl& nccl = loaded_nccl();
  const std::uint64_t free = RG_TRY(gpu.free_bytes());
  if (free < bytes)
    return fail(Code::kFailedPrecondition, "{}: allocate {}: {} of its memory are free", gpu.name(),
                canonical_bytes(bytes), free);
  Buffer buffer;
  void* raw = nullptr;
  RG_TRY_OK(
      nccl_status(nccl, nccl.mem_alloc(&raw, bytes),
                  fmt::format("{}: allocate {} by NCCL", gpu.name(), canonical_bytes(bytes))));
  buffer.memory_ = Handle<MemoryTraits>(raw);
  buffer.data_ = reinterpret_cast<cu::DevicePtr>(raw);
  return buffer;
}

Result<Graph> Graph::capture(const gpu::Gpu& gpu, cu::Stream stream,
                             const std::function<Status()>& queue) {
  const Cuda& cuda = loaded_cuda();
  // The driver's functions are looked up one by one; an old driver lacks them.
  if (cuda.stream_begin_capture == nullptr || cuda.stream_end_capture == nullptr ||
      cuda.graph_instantiate == nullptr || cuda.graph_launch == nullptr ||
      cuda.graph_destroy == nullptr || cuda.graph_exec_destroy == nullptr)
    return fail(Code::kUnimplemented,
                "{}: capture a graph: driver {} cannot; CUDA 11.4 and later drivers can",
                gpu.name(), cuda.version);
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
