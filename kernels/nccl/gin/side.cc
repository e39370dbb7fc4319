#include "kernels/nccl/gin/side.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/text/units.h"
#include "kernels/gpu/timing.h"

namespace railgauge::nccl {

extern const gpu::DeviceCode kGinCode;

namespace {

using Word = unsigned long long;

// The words of a launch, in the order of gin.cu.
enum Found : std::size_t {
  kDone,
  kWrong,
  kTimerBegin,
  kClockBegin,
  kTimerEnd,
  kClockEnd,
  kSignals,
  kFound
};

constexpr double kCyclesPerNs = 3;  // above any GPU's clock
constexpr double kGraceNs = 1e9;    // the CPU, which can name the reason, gives up first
constexpr double kEndNs = 3e8;      // for a launch's end after its stop word
constexpr double kOwnRateNs = 1e6;  // the timer's step, up to 1 us, is then 0.1 % of a launch
constexpr std::chrono::microseconds kLook{20};
constexpr unsigned char kUnwritten = 0xa5;
constexpr std::uint64_t kAlignment = 4096;
constexpr std::size_t kLeastCommBytes = 4096;  // above every release's structure so far

// Released, so that a running kernel sees the word after all that was written before.
void store(std::byte* word, std::uint32_t value) {
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(word)).store(value, std::memory_order_release);
}

// NCCL's warnings where a machine has no GIN, from 2.28.7 to 2.30.7. A broken fabric and a wrong
// argument of ours have the same results with other words, and are failures.
constexpr std::array<std::string_view, 5> kLackWords{
    "GIN not supported", "GIN is disabled", "No GIN-capable devices", "Unable to use GIN",
    "not all ranks in the communicator support GIN"};
bool is_lack(const Error& error) {
  const auto is_said = [&](std::string_view words) {
    return error.message.find(words) != std::string::npos;
  };
  return (error.code == Code::kInvalidArgument || error.code == Code::kInternal) &&
         std::ranges::any_of(kLackWords, is_said);
}

// Each rank gives bytes of its own, so that a get of another rank's memory is wrong data.
std::uint64_t seed_of_rank(std::uint64_t seed, std::uint64_t rank) { return seed * 65'536 + rank; }

}  // namespace

Status check_headers(const GinHeaders& headers, int library_version) {
  if (library_version < nc::kFirstWithGin)
    return fail(Code::kUnimplemented,
                "NCCL {}: it has no GPU-initiated networking (GIN); {} and later have",
                nccl_release(library_version), nccl_release(nc::kFirstWithGin));
  const bool fits =
      library_version == headers.release ||
      (headers.release >= nc::kFirstFittingLater && library_version > headers.release);
  if (fits) return {};
  return fail(
      Code::kUnimplemented,
      "NCCL {}: this build's device code is made of the headers of {}, which {}; build with "
      "the library's own headers",
      nccl_release(library_version), nccl_release(headers.release),
      headers.release > library_version ? "are newer" : "fit that release alone");
}

std::string gin_kind_words(std::uint64_t kind) {
  if (kind == nc::kGinProxy) return "proxy: a thread of the CPU writes the NIC's queues";
  if (kind == nc::kGinGdaki) return "GDAKI: the GPU writes the NIC's queues";
  if (kind == nc::kGinGpi) return "GPI: the GPU writes the NIC's queues";
  return fmt::format("kind {} of NCCL's network devices", kind);
}

Result<std::unique_ptr<GinSide>> GinSide::create(const gpu::Gpu& gpu, const Progress& progress,
                                                 double stall_ns) {
  std::unique_ptr<GinSide> made(new GinSide(gpu, progress));
  made->idle_cycles_ = static_cast<Word>(kCyclesPerNs * (stall_ns + kGraceNs));
  made->code_ = RG_TRY(gpu::LoadedCode::load(gpu, kGinCode));
  made->about_ = RG_TRY(made->code_.function("railgauge_gin_about"));
  made->ring_ = RG_TRY(made->code_.function("railgauge_gin_ring"));
  made->pattern_ = RG_TRY(gpu::Pattern::create(gpu));
  made->pinned_ =
      RG_TRY(gpu::on_gpu(gpu, PinnedBuffer::allocate(GpuBuffer::kPageBytes, PinnedKind::kPinned)));
  made->stream_ = RG_TRY(gpu::make_stream(gpu));
  made->ended_ = RG_TRY(gpu::make_event(gpu));
  made->words_ = RG_TRY(GpuBuffer::allocate(gpu.name(), (kFound + kMaxRounds) * sizeof(Word)));
  cu::DevicePtr about = made->words_.data();
  cu::DevicePtr none = 0;
  // The driver takes an array of pointers.
  void* arguments[] = {&about, &none};  // NOLINT(modernize-avoid-c-arrays)
  RG_TRY_OK(made->launch(made->about_, arguments, "ask the device code for its headers"));
  made->headers_ = {.release = static_cast<int>(made->found_[0]),
                    .comm_bytes = made->found_[1],
                    .has_get = made->found_[2] != 0};
  if (made->headers_.has_get) made->get_ = RG_TRY(made->code_.function("railgauge_gin_get"));
  return made;
}

GinSide::~GinSide() {
  device_comm_.reset();
  memory_.deregister();
}

// NCCL writes a structure of the headers' size; one of another release may be larger.
Status GinSide::allocate(std::uint64_t bytes, std::uint32_t ranks) {
  ranks_ = ranks;
  stride_ =
      (std::max<std::uint64_t>(bytes, sizeof(Word)) + kAlignment - 1) / kAlignment * kAlignment;
  memory_ = RG_TRY(Buffer::symmetric(*gpu_, stride_ * (1 + ranks)));
  made_.assign(std::max<std::size_t>(kLeastCommBytes, 2 * headers_.comm_bytes), std::byte{});
  device_copy_ = RG_TRY(GpuBuffer::allocate(gpu_->name(), made_.size()));
  return {};
}

// The window comes first: the device communicator registers all windows that are there with the
// NIC.
Status GinSide::connect(const Communicator& comm) {
  RG_TRY_OK(memory_.register_window(*gpu_, comm));
  return make_device_comm(comm);
}

// Releases before 2.29.2 take the requirements without a head.
Status GinSide::make_device_comm(const Communicator& comm) {
  const Nccl& nccl = loaded_nccl();
  nc::DeviceRequirements wanted;
  wanted.version = static_cast<unsigned>(headers_.release);
  wanted.body.gin_force = true;
  wanted.body.gin_signals = 1;
  const bool has_head = nccl.version_code >= nc::kFirstWithHead;
  const std::string act = gpu_->name() + ": make a device communicator";
  const nc::Return returned = nccl.dev_comm_create(
      comm.get(), has_head ? static_cast<const void*>(&wanted) : &wanted.body, made_.data());
  Status made = comm.done(returned, act);
  if (!made) {
    if (is_lack(made.error())) {
      made.error().code = Code::kFailedPrecondition;
      made.error().message += "; a NIC with GPUDirect RDMA that NCCL's GIN can use is needed";
    }
    return made;
  }
  device_comm_ = Handle<DeviceCommTraits>({comm.get(), made_.data()});
  return gpu_status(*gpu_,
                    loaded_cuda().memcpy_htod(device_copy_.data(), made_.data(), made_.size()),
                    "copy the device communicator to it");
}

Result<std::string> GinSide::kind() {
  cu::DevicePtr about = words_.data();
  cu::DevicePtr comm = device_copy_.data();
  // The driver takes an array of pointers.
  void* arguments[] = {&about, &comm};  // NOLINT(modernize-avoid-c-arrays)
  RG_TRY_OK(launch(about_, arguments, "ask the device communicator for its kind"));
  return gin_kind_words(found_[3]);
}

Status GinSide::reset(std::uint32_t rank, std::uint64_t bytes, std::uint64_t seed) {
  const Cuda& cuda = loaded_cuda();
  checked_gets_from_ = gets_;
  RG_TRY_OK(gpu_status(*gpu_,
                       cuda.memset_d8(memory_.data() + received_at(0), kUnwritten,
                                      static_cast<std::size_t>(stride_ * ranks_)),
                       "make the received bytes wrong"));
  if (bytes > 0) RG_TRY_OK(pattern_->fill(given(), bytes, seed_of_rank(seed, rank)));
  return gpu_status(*gpu_, cuda.stream_synchronize(nullptr), "wait for fresh data");
}

// The signal is never reset: it counts on from launch to launch. No rank begins a launch before all
// have ended the one before, so at its end each rank has one signal for each round; a doubled one
// that comes later shows in the next launch.
Result<GinTimed> GinSide::ring(std::uint32_t rank, const GinRounds& rounds) {
  cu::DevicePtr comm = device_copy_.data();
  nc::Window window = memory_.window();
  Word send = 0;
  Word receive = received_at(0);
  Word bytes = rounds.message_bytes;
  Word first = rounds_;
  auto count = static_cast<unsigned>(rounds.count);
  unsigned numbered = rounds.numbered && bytes > 0 ? 1 : 0;
  cu::DevicePtr found = words_.data();
  cu::DevicePtr cycles = found + kFound * sizeof(Word);
  cu::DevicePtr stop = pinned_.device_pointer();
  // NOLINTNEXTLINE(modernize-avoid-c-arrays)
  void* arguments[] = {&comm,  &window,   &send,   &receive, &bytes, &first,
                       &count, &numbered, &cycles, &found,   &stop,  &idle_cycles_};
  const std::string act = fmt::format("rounds {} to {}", first + 1, first + count);
  RG_TRY_OK(launch(ring_, arguments, act));
  rounds_ += found_[kDone];
  if (found_[kWrong] != 0)
    return fail(Code::kDataLoss, "{}: {}: {} of them came with another round's number",
                gpu_->name(), act, found_[kWrong]);
  GinTimed made = RG_TRY(timed(rounds, rank == 0, act));
  if (found_[kSignals] != rounds_)
    return fail(Code::kDataLoss, "{}: {}: {} signals came since the begin, expected {}",
                gpu_->name(), act, found_[kSignals], rounds_);
  return made;
}

Result<GinTimed> GinSide::get(const GinRounds& rounds) {
  cu::DevicePtr comm = device_copy_.data();
  nc::Window window = memory_.window();
  Word remote = 0;
  Word local = received_at(0);
  Word stride = stride_;
  Word bytes = rounds.message_bytes;
  Word first = gets_;
  auto count = static_cast<unsigned>(rounds.count);
  cu::DevicePtr found = words_.data();
  cu::DevicePtr cycles = found + kFound * sizeof(Word);
  cu::DevicePtr stop = pinned_.device_pointer();
  // NOLINTNEXTLINE(modernize-avoid-c-arrays)
  void* arguments[] = {&comm,  &window, &remote, &local, &stride, &bytes,
                       &first, &count,  &cycles, &found, &stop};
  const std::string act = fmt::format("gets {} to {}", first + 1, first + count);
  RG_TRY_OK(launch(get_, arguments, act));
  gets_ += found_[kDone];
  if (found_[kWrong] != 0)
    return fail(Code::kDataLoss, "{}: {}: {} of them ended before their bytes came", gpu_->name(),
                act, found_[kWrong]);
  return timed(rounds, true, act);
}

Status GinSide::check_ring(std::uint64_t bytes, std::uint64_t seed) {
  return pattern_->verify(memory_.data() + received_at(0), bytes, seed_of_rank(seed, 0),
                          fmt::format("{}: after all {} ranks", gpu_->name(), ranks_));
}

Status GinSide::check_gets(std::uint64_t bytes, std::uint64_t seed) {
  const std::uint64_t others = ranks_ - 1;
  const std::uint64_t asked = std::min(others, gets_ - checked_gets_from_);
  for (std::uint64_t i = 0; i < asked; ++i) {
    const std::uint64_t place = (checked_gets_from_ + i) % others;
    RG_TRY_OK(pattern_->verify(memory_.data() + received_at(place), bytes,
                               seed_of_rank(seed, 1 + place),
                               fmt::format("{}: got of rank {}", gpu_->name(), 1 + place)));
  }
  return {};
}

// A stopped launch gets its word, and ends unless the GPU hangs in a call of the headers.
Status GinSide::launch(cu::Function function, void** arguments, std::string_view act) {
  const Cuda& cuda = loaded_cuda();
  store(stop_word(), 0);
  RG_TRY_OK(gpu_status(
      *gpu_, cuda.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, stream_.get(), arguments, nullptr),
      act));
  RG_TRY_OK(gpu_status(*gpu_, cuda.event_record(ended_.get(), stream_.get()), act));
  while (true) {
    const cu::Return returned = cuda.event_query(ended_.get());
    if (returned == cu::kSuccess) break;
    if (returned != cu::kNotReady) return gpu_status(*gpu_, returned, act);
    if (progress_->stopped()) {
      store(stop_word(), 1);
      static_cast<void>(gpu::wait_for(*gpu_, ended_, monotonic_now_ns() + kEndNs, act));
      return progress_->stopped_at(fmt::format("{}: {}", gpu_->name(), act));
    }
    std::this_thread::sleep_for(kLook);
  }
  found_.assign(kFound + kMaxRounds, 0);
  return gpu_status(*gpu_,
                    cuda.memcpy_dtoh(found_.data(), words_.data(), found_.size() * sizeof(Word)),
                    "read what the rounds left");
}

// The clock of the multiprocessor counts finer than the timer, whose step may be 1 us. The clock's
// rate may change between launches: a launch that is long enough gives its own, a short one takes
// the mean of all so far.
Result<GinTimed> GinSide::timed(const GinRounds& rounds, bool leads, std::string_view act) {
  if (found_[kDone] != rounds.count)
    return fail(Code::kDeadlineExceeded, "{}: {}: {} came, then nothing", gpu_->name(), act,
                found_[kDone]);
  GinTimed made;
  if (!leads) return made;
  made.took_ns = static_cast<double>(found_[kTimerEnd] - found_[kTimerBegin]);
  const auto cycles = static_cast<double>(found_[kClockEnd] - found_[kClockBegin]);
  if (made.took_ns <= 0 || cycles <= 0)
    return fail(Code::kInternal, "{}: {}: its timer says {} ns, its clock {} cycles", gpu_->name(),
                act, made.took_ns, cycles);
  span_ns_ += made.took_ns;
  span_cycles_ += cycles;
  const double ns_per_cycle =
      made.took_ns >= kOwnRateNs ? made.took_ns / cycles : span_ns_ / span_cycles_;
  for (std::uint64_t i = 0; i < rounds.count; ++i)
    made.rounds_ns.push_back(static_cast<double>(found_[kFound + i]) * ns_per_cycle);
  return made;
}

}  // namespace railgauge::nccl
