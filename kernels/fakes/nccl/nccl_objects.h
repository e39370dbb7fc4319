// The fake NCCL's structures behind the handles.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/dl/nccl.h"
#include "kernels/fakes/nccl/fake_nccl.h"

namespace railgauge::fake {

using Bytes = std::vector<unsigned char>;

std::size_t bytes_of_type(nc::DataType type);
// Reduces all inputs, which have equal sizes, element by element in rank order.
Bytes reduce(std::span<const Bytes> inputs, nc::DataType type, nc::RedOp op);

enum class Kind : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
};

// One rank's call; `bytes` is the size of `count` elements.
struct Collective {
  Kind kind = Kind::kAllReduce;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t bytes = 0;
  nc::DataType type = 0;
  nc::RedOp op = 0;
  int root = 0;
};

struct Message {
  const void* data = nullptr;
  std::size_t bytes = 0;
  bool taken = false;
};
struct Part {  // of a group of sends and receives
  bool sends = false;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
};

// One rank's state; lives as long as any of its queued work.
struct Member {
  int rank = 0;
  std::atomic<bool> aborted = false;
  bool connected = false;
  std::uint64_t done = 0;  // number of collectives that it reached
  std::uint64_t splits = 0;
};

// Hangs as a call that does not return; holds no lock.
void hang();

// Memory that the ranks of one unique id share, each in a process of its own (nccl_board.cc).
class Board;
// Makes a board and returns the unique id by which other processes of this host open it; "" on
// failure.
std::string make_board();
// Opens the board of make_board(); nullptr for any other id.
std::shared_ptr<Board> open_board(const std::string& id, int ranks);
// Returns when all ranks have joined, or were released.
nc::Return join_board(Board& board);
// Puts a rank's input for collective `number` on the board; returns when all ranks' inputs are
// there. False when `stop` becomes true before, or the input is too long.
bool put_on_board(Board& board, int rank, std::uint64_t number, const Bytes& input,
                  const std::function<bool()>& stop);
// Returns that input, valid until the rank has taken its result.
const void* on_board(const Board& board, int rank);
void take_from_board(Board& board, int rank, std::uint64_t number);

// Places a rank's results where its calls want them, or what the control's fault makes of them. Not
// thread safe.
class Deliveries {
 public:
  void place(int rank, void* to, Bytes result);

 private:
  std::uint64_t count_ = 0;
  Bytes before_;
  // A result that comes late, and its place.
  Bytes held_;
  void* held_to_ = nullptr;
};

// Sets the text that ncclGetLastError returns until the next reset().
void set_last_words(const char* words);

// Makes a device communicator of a rank at `made`; returns when all ranks made theirs.
nc::Return make_gin(nc::Comm comm, int library_version, const void* requirements, void* made);

class World;
// One rank's part of a split.
struct Split {
  std::shared_ptr<World> world;
  int rank = 0;
};

// Returns the bytes of a rank's send buffer.
std::size_t sent_bytes(const Collective& call, int rank, int ranks);

// All ranks of one unique id.
class World {
 public:
  World(int ranks, const std::string& id) : ranks_(ranks), board_(open_board(id, ranks)) {}

  // Wait for all other ranks (`join` only with `wait`); kRemoteError when one left before (its
  // sockets close) or all were released.
  nc::Return join(bool wait);
  nc::Return connect(Member& member);
  // Returns when all ranks have split; kInvalidUsage for ranks in separate processes.
  nc::Return split(Member& member, int color, int key, Split& made);
  [[nodiscard]] bool complete();
  void leave(Member& member, bool aborted);
  // Called on a stream's thread: returns when all ranks came to the same work and it is done, or
  // when this member was aborted.
  void run(Member& member, const Collective& call);
  void run(Member& member, const std::vector<Part>& parts);
  // The memory that a rank registered last, and what it was signalled (nccl_gin.cc).
  void set_window(int rank, void* memory);
  unsigned char* window_of(int rank);
  void signal(int rank);
  std::uint64_t signals(int rank);
  [[nodiscard]] int ranks() const { return ranks_; }

 private:
  struct Gathering {
    std::map<int, Collective> calls;
    bool done = false;
    int left = 0;
  };
  // Who came to a split, by color in the order of the keys, and the worlds that it makes.
  struct Splitting {
    std::map<int, std::vector<std::pair<int, int>>> ranks;
    std::map<int, std::shared_ptr<World>> worlds;
    int came = 0;
  };
  nc::Return gather(std::unique_lock<std::mutex>& lock, const int& came);
  // Computes the result of all calls for all ranks, or for rank `only`.
  void compute(const std::map<int, Collective>& calls, int only = -1);
  void run_on_board(Member& member, const Collective& call);
  void receive(std::unique_lock<std::mutex>& lock, Member& member, const Part& part);

  const int ranks_;
  const std::shared_ptr<Board> board_;  // nullptr: all ranks are in this process
  std::mutex mutex_;
  std::condition_variable changed_;
  int joined_ = 0;
  int connected_ = 0;
  bool left_ = false;  // a rank has ended
  void deliver(int rank, void* to, Bytes result);

  std::map<int, Deliveries> deliveries_;  // by rank
  std::map<int, unsigned char*> windows_;
  std::map<int, std::uint64_t> signals_;
  std::map<std::uint64_t, Gathering> gatherings_;
  std::map<std::uint64_t, Splitting> splits_;  // by number; live as long as the world
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> mail_;  // by sender, receiver
};

}  // namespace railgauge::fake

namespace railgauge::nc {
struct CommObject {
  std::shared_ptr<fake::World> world;
  std::shared_ptr<fake::Member> member;
  bool waits = true;  // false: calls continue in the background
};
}  // namespace railgauge::nc

// The library exports exactly the functions that the table declares.
namespace nc = railgauge::nc;
namespace cu = railgauge::cu;
extern "C" {
#define RAILGAUGE_DECLARE(slot, symbol, result, parameters) result symbol parameters;
RAILGAUGE_NCCL_REQUIRED(RAILGAUGE_DECLARE)
RAILGAUGE_NCCL_OPTIONAL(RAILGAUGE_DECLARE)
RAILGAUGE_NCCL_DEVICE(RAILGAUGE_DECLARE)
#undef RAILGAUGE_DECLARE
}
