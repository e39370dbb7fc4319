// The meetings of the fake NCCL's ranks, and the processing of their data.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "kernels/fakes/cuda/cuda_objects.h"
#include "kernels/fakes/nccl/nccl_objects.h"

namespace railgauge::fake {
namespace {

constexpr std::chrono::milliseconds kLook{1};

Bytes snapshot(const void* data, std::size_t bytes) {
  Bytes copy(bytes);
  if (bytes > 0) std::memcpy(copy.data(), data, bytes);
  return copy;
}

// One rank's result; empty where it has none.
Bytes result_of(const Collective& call, std::size_t rank, const std::vector<Bytes>& inputs,
                const Bytes& reduced) {
  const std::size_t bytes = call.bytes;
  const auto root = static_cast<std::size_t>(call.root);
  const auto own = static_cast<std::ptrdiff_t>(rank * bytes);
  const auto part = [&](const Bytes& all, std::ptrdiff_t from) {
    const auto begin = all.begin() + from;
    return Bytes(begin, begin + static_cast<std::ptrdiff_t>(bytes));
  };
  Bytes result;
  switch (call.kind) {
    case Kind::kAllReduce:
      return part(reduced, 0);
    case Kind::kReduce:
      return rank == root ? part(reduced, 0) : result;
    case Kind::kReduceScatter:
      return part(reduced, own);
    case Kind::kBroadcast:
      return part(inputs[root], 0);
    case Kind::kScatter:
      return part(inputs[root], own);
    case Kind::kAllGather:
    case Kind::kGather:
    case Kind::kAllToAll:
      break;
  }
  if (call.kind == Kind::kGather && rank != root) return result;
  for (const Bytes& input : inputs) {
    const Bytes one = part(input, call.kind == Kind::kAllToAll ? own : 0);
    result.insert(result.end(), one.begin(), one.end());
  }
  return result;
}

bool alike(const Collective& a, const Collective& b) {
  return a.kind == b.kind && a.bytes == b.bytes && a.type == b.type && a.op == b.op &&
         a.root == b.root;
}

}  // namespace

std::size_t sent_bytes(const Collective& call, int rank, int ranks) {
  const auto all = static_cast<std::size_t>(ranks) * call.bytes;
  switch (call.kind) {
    case Kind::kReduceScatter:
    case Kind::kAllToAll:
      return all;
    case Kind::kBroadcast:
      return rank == call.root ? call.bytes : 0;
    case Kind::kScatter:
      return rank == call.root ? all : 0;
    default:
      return call.bytes;
  }
}

void hang() {
  NcclControl& control = nccl_control();
  ++control.waiting;
  while (!control.released) std::this_thread::sleep_for(kLook);
  --control.waiting;
}

bool nccl_release(double seconds) {
  NcclControl& control = nccl_control();
  control.released = true;
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (control.waiting > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(kLook);
  return control.waiting == 0;
}

nc::Return World::gather(std::unique_lock<std::mutex>& lock, const int& came) {
  NcclControl& control = nccl_control();
  changed_.notify_all();
  ++control.waiting;
  while (came < ranks_ && !left_ && !control.released) changed_.wait_for(lock, kLook);
  --control.waiting;
  return came >= ranks_ ? nc::kSuccess : nc::kRemoteError;
}

nc::Return World::join(bool wait) {
  if (board_ != nullptr) return join_board(*board_);
  std::unique_lock lock(mutex_);
  ++joined_;
  return wait ? gather(lock, joined_) : nc::kSuccess;
}

nc::Return World::connect(Member& member) {
  if (board_ != nullptr) return nc::kSuccess;
  std::unique_lock lock(mutex_);
  if (std::exchange(member.connected, true)) return nc::kSuccess;
  ++connected_;
  return gather(lock, connected_);
}

// The worlds are made when the last rank has come; each joined one counts as joined there.
nc::Return World::split(Member& member, int color, int key, Split& made) {
  if (board_ != nullptr) return nc::kInvalidUsage;
  std::unique_lock lock(mutex_);
  Splitting& splitting = splits_[member.splits++];
  splitting.ranks[color].emplace_back(key, member.rank);
  ++splitting.came;
  if (const nc::Return failed = gather(lock, splitting.came); failed != nc::kSuccess) return failed;
  auto& ranks = splitting.ranks[color];
  auto& world = splitting.worlds[color];
  if (world == nullptr) {
    std::ranges::sort(ranks);
    world = std::make_shared<World>(static_cast<int>(ranks.size()), "");
    world->joined_ = world->ranks_;
  }
  made.world = world;
  made.rank =
      static_cast<int>(std::ranges::find(ranks, std::pair(key, member.rank)) - ranks.begin());
  return nc::kSuccess;
}

bool World::complete() {
  if (board_ != nullptr) return true;
  const std::lock_guard lock(mutex_);
  return joined_ >= ranks_;
}

void World::leave(Member& member, bool aborted) {
  const std::lock_guard lock(mutex_);
  member.aborted = aborted;
  left_ = true;
  changed_.notify_all();
}

void World::run(Member& member, const Collective& call) {
  if (board_ != nullptr) return run_on_board(member, call);
  std::unique_lock lock(mutex_);
  if (member.aborted) return;
  const std::uint64_t number = member.done++;
  const NcclControl& control = nccl_control();
  if (control.stuck_of == static_cast<std::uint64_t>(member.rank) + 1 &&
      number + 1 >= control.stuck_at) {
    while (!member.aborted && !control.released) changed_.wait_for(lock, kLook);
    return;
  }
  Gathering& gathering = gatherings_[number];
  gathering.calls[member.rank] = call;
  if (static_cast<int>(gathering.calls.size()) == ranks_) {
    std::this_thread::sleep_for(std::chrono::microseconds(control.slow_us));
    if (++nccl_control().collectives != control.skip_call) compute(gathering.calls);
    gathering.done = true;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return gathering.done || member.aborted; });
  if (!gathering.done) {
    gathering.calls.erase(member.rank);  // its memory may go
    return;
  }
  if (++gathering.left == ranks_) gatherings_.erase(number);
}

// Inputs are copied first: a result may take an input's place. Ranks that do not agree get nothing,
// which no data survives.
void World::compute(const std::map<int, Collective>& calls, int only) {
  const Collective& first = calls.begin()->second;
  std::vector<Bytes> inputs;
  for (const auto& [rank, call] : calls) {
    if (!alike(first, call)) return;
    inputs.push_back(snapshot(call.send, sent_bytes(call, rank, ranks_)));
  }
  const bool reduces = first.kind == Kind::kAllReduce || first.kind == Kind::kReduce ||
                       first.kind == Kind::kReduceScatter;
  const Bytes reduced = reduces ? reduce(inputs, first.type, first.op) : Bytes{};
  for (const auto& [rank, call] : calls)
    if (only < 0 || rank == only)
      deliver(rank, call.receive,
              result_of(first, static_cast<std::size_t>(rank), inputs, reduced));
}

// Only the control's one rank has a plan of faults.
void World::deliver(int rank, void* to, Bytes result) {
  if (!result.empty()) deliveries_[rank].place(rank, to, std::move(result));
}

void World::run_on_board(Member& member, const Collective& call) {
  const std::uint64_t number = member.done++;
  const auto stop = [&] { return member.aborted || nccl_control().released; };
  const Bytes mine = snapshot(call.send, sent_bytes(call, member.rank, ranks_));
  std::this_thread::sleep_for(std::chrono::microseconds(nccl_control().slow_us));
  if (!put_on_board(*board_, member.rank, number, mine, stop)) return;
  std::map<int, Collective> calls;
  for (int rank = 0; rank < ranks_; ++rank) {
    calls[rank] = call;
    calls[rank].send = on_board(*board_, rank);
  }
  compute(calls, member.rank);
  take_from_board(*board_, member.rank, number);
}

void World::run(Member& member, const std::vector<Part>& parts) {
  std::unique_lock lock(mutex_);
  std::vector<std::shared_ptr<Message>> sent;
  for (const Part& part : parts)
    if (part.sends) {
      sent.push_back(std::make_shared<Message>(Message{part.send, part.bytes}));
      mail_[{member.rank, part.peer}].push_back(sent.back());
    }
  changed_.notify_all();
  for (const Part& part : parts)
    if (!part.sends) receive(lock, member, part);
  for (const auto& message : sent)
    changed_.wait(lock, [&] { return message->taken || member.aborted; });
  // Memory that nobody took may go.
  for (const auto& message : sent)
    if (!message->taken)
      for (auto& [ends, waiting] : mail_) std::erase(waiting, message);
}

void World::receive(std::unique_lock<std::mutex>& lock, Member& member, const Part& part) {
  auto& waiting = mail_[{part.peer, member.rank}];
  changed_.wait(lock, [&] { return !waiting.empty() || member.aborted; });
  if (waiting.empty()) return;
  const std::shared_ptr<Message> message = waiting.front();
  waiting.pop_front();
  if (message->bytes == part.bytes)
    deliver(member.rank, part.receive, snapshot(message->data, part.bytes));
  message->taken = true;
  ++nccl_control().messages;
  changed_.notify_all();
}

}  // namespace railgauge::fake
