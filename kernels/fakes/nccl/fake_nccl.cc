// The functions that the fake NCCL exports.
#include "kernels/fakes/nccl/fake_nccl.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "kernels/fakes/cuda/cuda_objects.h"
#include "kernels/fakes/nccl/nccl_objects.h"
#include "kernels/fakes/settings.h"

#ifndef RAILGAUGE_FAKE_NCCL_VERSION
#define RAILGAUGE_FAKE_NCCL_VERSION 22809
#endif

namespace railgauge::fake {
namespace {

struct Worlds {
  std::mutex mutex;
  std::uint64_t ids = 0;
  std::map<std::string, std::weak_ptr<World>> by_id;
};
Worlds& worlds() {
  static auto* made = new Worlds;
  return *made;
}

// A group that the calling thread has open.
struct Queued {
  nc::Comm comm = nullptr;
  cu::Stream stream = nullptr;
  Part part;
};
thread_local int t_depth = 0;
thread_local std::vector<Queued> t_queued;

// Its debug output, in words of its own like NCCL's.
struct Log {
  std::mutex mutex;
  bool begun = false;  // since the last reset: no descriptor stays open
};
Log& debug_log() {
  static auto* made = new Log;
  return *made;
}

constexpr std::size_t kSmall = 256;  // bytes

void say(const std::string& text) {
  const char* path = std::getenv("NCCL_DEBUG_FILE");
  if (path == nullptr) return;
  const std::lock_guard lock(debug_log().mutex);
  std::FILE* file = std::fopen(path, debug_log().begun ? "ae" : "we");
  if (file == nullptr) return;
  debug_log().begun = true;
  std::fprintf(file, "fake:1:1 [0] NCCL INFO %s\n", text.c_str());
  std::fclose(file);
}

// When a call is made, or captured; not when a graph is launched.
void say_choice(const char* operation, std::size_t bytes) {
  const char* subsystems = std::getenv("NCCL_DEBUG_SUBSYS");
  if (subsystems == nullptr ||
      std::string_view(subsystems).find("TUNING") == std::string_view::npos)
    return;
  say(std::string(operation) + ": " + std::to_string(bytes) + " Bytes -> Algo " +
      (bytes <= kSmall ? "TREE proto LL" : "RING proto SIMPLE") + " channel{Lo..Hi}={0..1}");
}

// A query or a release says this: an error once the GPU is gone.
nc::Return answer_of_nccl() {
  const NcclControl& control = nccl_control();
  const bool is_gone = control.fail_from != 0 && control.calls >= control.fail_from;
  return is_gone ? static_cast<nc::Return>(control.fail_error.load()) : nc::kSuccess;
}

nc::Return enter_nccl() {
  NcclControl& control = nccl_control();
  const bool fails = ++control.calls == control.fail_call;
  return fails ? static_cast<nc::Return>(control.fail_error.load()) : answer_of_nccl();
}

// The calls of a rank, as the controls count them.
std::uint64_t number_of(int rank) { return static_cast<std::uint64_t>(rank) + 1; }

nc::Return connect(nc::Comm comm) {
  if (nccl_control().hang_call_of == number_of(comm->member->rank)) hang();
  return comm->world->connect(*comm->member);
}

nc::Return push(nc::Comm comm, cu::Stream stream, const Collective& call) {
  if (const nc::Return failed = connect(comm); failed != nc::kSuccess) return failed;
  queue_of(stream)->push(
      [world = comm->world, member = comm->member, call] { world->run(*member, call); });
  if (t_depth > 0) ++nccl_control().grouped;
  return comm->waits ? nc::kSuccess : nc::kInProgress;
}

// One piece of work for each stream of the group, as one kernel does all its parts at once.
nc::Return push_group() {
  for (const Queued& one : t_queued)
    if (const nc::Return failed = connect(one.comm); failed != nc::kSuccess) {
      t_queued.clear();
      return failed;
    }
  while (!t_queued.empty()) {
    const Queued first = t_queued.front();
    std::vector<Part> parts;
    std::erase_if(t_queued, [&](const Queued& one) {
      if (one.comm != first.comm || one.stream != first.stream) return false;
      parts.push_back(one.part);
      return true;
    });
    queue_of(first.stream)->push([world = first.comm->world, member = first.comm->member, parts] {
      world->run(*member, parts);
    });
  }
  return nc::kSuccess;
}

nc::Return queue(nc::Comm comm, cu::Stream stream, const Part& part) {
  t_queued.push_back({comm, stream, part});
  return t_depth == 0 ? push_group() : nc::kSuccess;
}

std::atomic<const char*>& last_words() {
  static std::atomic<const char*> words{""};
  return words;
}

}  // namespace

void set_last_words(const char* words) { last_words() = words; }

NcclControl& nccl_control() {
  static NcclControl* control = [] {
    auto* made = new NcclControl;
    made->reset();
    return made;
  }();
  return *control;
}

void NcclControl::reset() {
  const std::array settings{Setting{"fail_call", fail_call, 0},
                            Setting{"fail_from", fail_from, 0},
                            Setting{"fail_error", fail_error, nc::kInternalError},
                            Setting{"async_error", async_error, 0},
                            Setting{"hang_join_of", hang_join_of, 0},
                            Setting{"hang_call_of", hang_call_of, 0},
                            Setting{"hang_abort_of", hang_abort_of, 0},
                            Setting{"stuck_of", stuck_of, 0},
                            Setting{"stuck_at", stuck_at, 1},
                            Setting{"skip_call", skip_call, 0},
                            Setting{"slow_us", slow_us, 0},
                            Setting{"fault", fault, 0},
                            Setting{"fault_of", fault_of, 0},
                            Setting{"fault_every", fault_every, 1},
                            Setting{"told_network", told_network, 0},
                            Setting{"no_windows", no_windows, 0},
                            Setting{"version", version, RAILGAUGE_FAKE_NCCL_VERSION},
                            Setting{"no_gin", no_gin, 0},
                            Setting{"gin_fault", gin_fault, 0},
                            Setting{"gin_fault_from", gin_fault_from, 0},
                            Setting{"processes", processes, 0}};
  apply_settings(settings, "RAILGAUGE_FAKE_NCCL");
  set_last_words("");
  calls = collectives = messages = aborts = splits = grouped = gin_transfers = 0;
  cta_policy = nc::kUndefined;
  released = false;
}

}  // namespace railgauge::fake

using railgauge::fake::bytes_of_type;
using railgauge::fake::Collective;
using railgauge::fake::Kind;
using railgauge::fake::nccl_control;
namespace fake = railgauge::fake;

#define RAILGAUGE_ENTER \
  if (const nc::Return failed = fake::enter_nccl(); failed != nc::kSuccess) return failed

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

void railgauge_synthetic_nccl() {}

nc::Return ncclGetVersion(int* version) {
  *version = static_cast<int>(nccl_control().version);
  return nc::kSuccess;
}

nc::Return ncclGetUniqueId(nc::UniqueId* id) {
  RAILGAUGE_ENTER;
  const std::lock_guard lock(fake::worlds().mutex);
  *id = {};
  const std::string name = nccl_control().processes == 0
                               ? "railgauge fake " + std::to_string(++fake::worlds().ids)
                               : fake::make_board();
  std::snprintf(id->internal, sizeof id->internal, "%s", name.c_str());
  return name.empty() ? nc::kSystemError : nc::kSuccess;
}

nc::Return ncclCommInitRankConfig(nc::Comm* comm, int ranks, nc::UniqueId id, int rank,
                                  nc::Config* config) {
  RAILGAUGE_ENTER;
  const nc::Config right = nc::config_for(RAILGAUGE_FAKE_NCCL_VERSION);
  if (config->magic != nc::kConfigMagic || config->size != right.size ||
      config->version != right.version || rank < 0 || rank >= ranks || fake::current_device() < 0)
    return nc::kInvalidArgument;
  if (config->size == sizeof(nc::Config)) nccl_control().cta_policy = config->cta_policy;
  if (nccl_control().hang_join_of == fake::number_of(rank)) {
    fake::hang();
    return nc::kSystemError;
  }
  // The environment wins over the configuration.
  const char* blocking = std::getenv("NCCL_COMM_BLOCKING");
  const bool waits =
      blocking == nullptr ? config->blocking == 1 : std::string_view(blocking) != "0";
  std::shared_ptr<fake::World> world;
  {
    const std::lock_guard lock(fake::worlds().mutex);
    auto& known = fake::worlds().by_id[id.internal];
    world = known.lock();
    if (world == nullptr) known = world = std::make_shared<fake::World>(ranks, id.internal);
  }
  if (const nc::Return failed = world->join(waits); failed != nc::kSuccess) return failed;
  auto member = std::make_shared<fake::Member>();
  member->rank = rank;
  *comm = new nc::CommObject{world, std::move(member), waits};
  ++nccl_control().communicators;
  if (rank == 0) {
    fake::say("Using network Fake");
    fake::say(
        "2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per "
        "peer");
    constexpr std::array kVia{"via P2P/fake", "[send] via NET/Fake Wire/0/GDRDMA",
                              "[send] via NET/Fake Wire/0"};
    const char* via = kVia[std::min<std::size_t>(nccl_control().told_network, kVia.size() - 1)];
    for (int peer = 1; peer < ranks; ++peer)
      fake::say("Channel 00/0 : 0[0] -> " + std::to_string(peer) + "[" + std::to_string(peer) +
                "] " + via);
  }
  return waits || ranks == 1 ? nc::kSuccess : nc::kInProgress;
}

// A split shares nothing with its parent. Ranks of separate processes have no splits.
nc::Return ncclCommSplit(nc::Comm parent, int color, int key, nc::Comm* comm, nc::Config* config) {
  RAILGAUGE_ENTER;
  if (config != nullptr || color < 0) return nc::kInvalidArgument;
  fake::Split made;
  if (const nc::Return failed = parent->world->split(*parent->member, color, key, made);
      failed != nc::kSuccess)
    return failed;
  auto member = std::make_shared<fake::Member>();
  member->rank = made.rank;
  auto* const object = new nc::CommObject{std::move(made.world), std::move(member), parent->waits};
  ++nccl_control().communicators;
  ++nccl_control().splits;
  if (parent->waits) {
    *comm = object;
    return nc::kSuccess;
  }
  // As 2.28.3: the handle comes later, and twice, although the call or the parent says that nothing
  // is under way.
  static constexpr std::chrono::milliseconds kLate(2);
  std::thread([comm, object] {
    std::this_thread::sleep_for(kLate);
    std::atomic_ref(*comm).store(object, std::memory_order_release);
    std::this_thread::sleep_for(10 * kLate);
    std::atomic_ref(*comm).store(object, std::memory_order_release);
  }).detach();
  return color == 0 ? nc::kSuccess : nc::kInProgress;
}

nc::Return ncclCommFinalize(nc::Comm) {
  RAILGAUGE_ENTER;
  return nc::kSuccess;
}

nc::Return ncclCommDestroy(nc::Comm comm) {
  comm->world->leave(*comm->member, comm->member->aborted);
  delete comm;
  --nccl_control().communicators;
  return fake::answer_of_nccl();
}

nc::Return ncclCommAbort(nc::Comm comm) {
  if (nccl_control().hang_abort_of == fake::number_of(comm->member->rank)) fake::hang();
  comm->world->leave(*comm->member, true);
  ++nccl_control().aborts;
  return ncclCommDestroy(comm);
}

nc::Return ncclCommGetAsyncError(nc::Comm comm, nc::Return* state) {
  if (*state = fake::answer_of_nccl(); *state != nc::kSuccess) return *state;
  *state = !comm->world->complete() ? nc::kInProgress
                                    : static_cast<nc::Return>(nccl_control().async_error);
  return nc::kSuccess;
}

const char* ncclGetErrorString(nc::Return returned) {
  switch (returned) {
    case nc::kSuccess:
      return "no error";
    case nc::kInternalError:
      return "internal error";
    case nc::kRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "another error";
  }
}

nc::Return ncclAllReduce(const void* send, void* receive, std::size_t count, nc::DataType type,
                         nc::RedOp op, nc::Comm comm, cu::Stream stream) {
  RAILGAUGE_ENTER;
  const std::size_t bytes = count * bytes_of_type(type);
  fake::say_choice("AllReduce", bytes);
  return fake::push(comm, stream, {Kind::kAllReduce, send, receive, bytes, type, op, 0});
}

nc::Return ncclAllGather(const void* send, void* receive, std::size_t count, nc::DataType type,
                         nc::Comm comm, cu::Stream stream) {
  RAILGAUGE_ENTER;
  const std::size_t bytes = count * bytes_of_type(type);
  fake::say_choice("AllGather", bytes);
  return fake::push(comm, stream, {Kind::kAllGather, send, receive, bytes, type, 0, 0});
}

nc::Return ncclReduceScatter(const void* send, void* receive, std::size_t count, nc::DataType type,
                             nc::RedOp op, nc::Comm comm, cu::Stream stream) {
  RAILGAUGE_ENTER;
  fake::say_choice("ReduceScatter", count * bytes_of_type(type));
  return fake::push(
      comm, stream,
      {Kind::kReduceScatter, send, receive, count * bytes_of_type(type), type, op, 0});
}

nc::Return ncclBroadcast(const void* send, void* receive, std::size_t count, nc::DataType type,
                         int root, nc::Comm comm, cu::Stream stream) {
  RAILGAUGE_ENTER;
  fake::say_choice("Broadcast", count * bytes_of_type(type));
  return fake::push(comm, stream,
                    {Kind::kBroadcast, send, receive, count * bytes_of_type(type), type, 0, root});
}

nc::Return ncclReduce(const void* send, void* receive, std::size_t count, nc::DataType type,
                      nc::RedOp op, int root, nc::Comm comm, cu::Stream stream) {
  RAILGAUGE_ENTER;
  fake::say_choice("Reduce", count * bytes_of_type(type));
  return fake::push(comm, stream,
                    {Kind::kReduce, send, receive, count * bytes_of_type(type), type, op, root});
}

nc::Return ncclSend(const void* send, std::size_t count, nc::DataType type, int peer, nc::Comm comm,
                    cu::Stream stream) {
  RAILGAUGE_ENTER;
  return fake::queue(comm, stream, {true, send, nullptr, count * bytes_of_type(type), peer});
}

nc::Return ncclRecv(void* receive, std::size_t count, nc::DataType type, int peer, nc::Comm comm,
                    cu::Stream stream) {
  RAILGAUGE_ENTER;
  return fake::queue(comm, stream, {false, nullptr, receive, count * bytes_of_type(type), peer});
}

nc::Return ncclGroupStart() {
  RAILGAUGE_ENTER;
  ++fake::t_depth;
  return nc::kSuccess;
}

// A group that fails does nothing.
nc::Return ncclGroupEnd() {
  if (fake::t_depth == 0) return nc::kInvalidUsage;
  const nc::Return failed = fake::enter_nccl();
  if (--fake::t_depth > 0) return failed;
  const nc::Return pushed = failed == nc::kSuccess ? fake::push_group() : failed;
  fake::t_queued.clear();
  return pushed;
}

#ifndef RAILGAUGE_FAKE_NCCL_OLD
const char* ncclGetLastError(nc::Comm) { return fake::last_words().load(); }

nc::Return ncclDevCommCreate(nc::Comm comm, const void* requirements, void* made) {
  RAILGAUGE_ENTER;
  return fake::make_gin(comm, static_cast<int>(nccl_control().version), requirements, made);
}

nc::Return ncclDevCommDestroy(nc::Comm, const void*) {
  --nccl_control().device_comms;
  return fake::answer_of_nccl();
}

void ncclResetDebugInit() {
  const std::lock_guard lock(fake::debug_log().mutex);
  fake::debug_log().begun = false;
}

nc::Return ncclCommRegister(nc::Comm, void* memory, std::size_t, void** handle) {
  RAILGAUGE_ENTER;
  *handle = memory;
  ++nccl_control().registrations;
  return nc::kSuccess;
}

nc::Return ncclCommDeregister(nc::Comm, void*) {
  --nccl_control().registrations;
  return fake::answer_of_nccl();
}

// As NCCL does where ranks cannot see each other's memory, it gives no window then and no error.
nc::Return ncclCommWindowRegister(nc::Comm comm, void* memory, std::size_t, nc::Window* window,
                                  int flags) {
  RAILGAUGE_ENTER;
  *window = nullptr;
  if (flags != nc::kWindowSymmetric) return nc::kInvalidArgument;
  if (nccl_control().no_windows != 0) return nc::kSuccess;
  *window = static_cast<nc::Window>(memory);
  comm->world->set_window(comm->member->rank, memory);
  ++nccl_control().windows;
  return nc::kSuccess;
}

nc::Return ncclCommWindowDeregister(nc::Comm, nc::Window) {
  --nccl_control().windows;
  return fake::answer_of_nccl();
}

nc::Return ncclMemAlloc(void** memory, std::size_t bytes) {
  RAILGAUGE_ENTER;
  cu::DevicePtr address = 0;
  if (cuMemAlloc_v2(&address, bytes) != cu::kSuccess) return nc::kUnhandledCudaError;
  *memory = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  ++nccl_control().memories;
  return nc::kSuccess;
}

nc::Return ncclMemFree(void* memory) {
  --nccl_control().memories;
  return cuMemFree_v2(reinterpret_cast<cu::DevicePtr>(memory)) == cu::kSuccess ? nc::kSuccess
                                                                               : nc::kInvalidUsage;
}

nc::Return ncclAlltoAll(const void* send, void* receive, std::size_t count, nc::DataType type,
                        nc::Comm comm, cu::Stream stream) {
  RAILGAUGE_ENTER;
  return fake::push(comm, stream,
                    {Kind::kAllToAll, send, receive, count * bytes_of_type(type), type, 0, 0});
}

nc::Return ncclGather(const void* send, void* receive, std::size_t count, nc::DataType type,
                      int root, nc::Comm comm, cu::Stream stream) {
  RAILGAUGE_ENTER;
  return fake::push(comm, stream,
                    {Kind::kGather, send, receive, count * bytes_of_type(type), type, 0, root});
}

nc::Return ncclScatter(const void* send, void* receive, std::size_t count, nc::DataType type,
                       int root, nc::Comm comm, cu::Stream stream) {
  RAILGAUGE_ENTER;
  return fake::push(comm, stream,
                    {Kind::kScatter, send, receive, count * bytes_of_type(type), type, 0, root});
}
#endif

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
