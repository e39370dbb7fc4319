// The meeting place of the fake NCCL's ranks that are processes of one host: a System V memory
// segment of the first rank, which the others attach by its number, since a confined process cannot
// open what another one has in /proc. A stopped process keeps the others waiting, as on hardware.
// The segment is removed at once, and Linux frees it with its last process, however that ends.
#include <sys/ipc.h>
#include <sys/shm.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <thread>

#include "kernels/fakes/nccl/nccl_objects.h"

namespace railgauge::fake {
namespace {

constexpr std::size_t kMostRanks = 16;
constexpr std::size_t kMostBytes = 64U << 10U;  // of a rank's input
constexpr std::chrono::microseconds kLook{100};
constexpr std::string_view kName = "railgauge fake segment ";

struct Place {
  std::atomic<std::uint64_t> put{0};    // inputs so far
  std::atomic<std::uint64_t> taken{0};  // results so far
  std::array<unsigned char, kMostBytes> input;
};
struct Shared {
  std::atomic<int> joined{0};
  std::array<Place, kMostRanks> places;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

bool wait_until(const std::function<bool()>& met, const std::function<bool()>& stop) {
  while (!met()) {
    if (stop()) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

Shared* attach(int segment) {
  void* memory = ::shmat(segment, nullptr, 0);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): shmat's documented error value
  return memory == reinterpret_cast<void*>(-1) ? nullptr : static_cast<Shared*>(memory);
}

}  // namespace

class Board {
 public:
  Board(Shared* shared, int ranks) : shared_(shared), ranks_(ranks) {}
  ~Board() { ::shmdt(shared_); }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  [[nodiscard]] Shared& shared() const { return *shared_; }
  [[nodiscard]] Place& place(int rank) const {
    return shared_->places[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] int ranks() const { return ranks_; }
  template <class Met>
  [[nodiscard]] bool all(const Met& met) const {
    for (int rank = 0; rank < ranks_; ++rank)
      if (!met(place(rank))) return false;
    return true;
  }

 private:
  Shared* shared_;
  int ranks_;
};

// This process stays attached until its end: others can attach a removed segment until then.
std::string make_board() {
  const int segment = ::shmget(IPC_PRIVATE, sizeof(Shared), IPC_CREAT | 0600);
  if (segment < 0) return "";
  const bool attached = attach(segment) != nullptr;
  ::shmctl(segment, IPC_RMID, nullptr);
  return attached ? std::string(kName) + std::to_string(segment) : "";
}

std::shared_ptr<Board> open_board(const std::string& id, int ranks) {
  if (!id.starts_with(kName) || ranks > static_cast<int>(kMostRanks)) return nullptr;
  int segment = -1;
  std::from_chars(id.data() + kName.size(), id.data() + id.size(), segment);
  Shared* shared = attach(segment);
  return shared == nullptr ? nullptr : std::make_shared<Board>(shared, ranks);
}

nc::Return join_board(Board& board) {
  ++board.shared().joined;
  const bool all = wait_until([&] { return board.shared().joined >= board.ranks(); },
                              [] { return nccl_control().released.load(); });
  return all ? nc::kSuccess : nc::kRemoteError;
}

// No rank's input is overwritten before all ranks have taken its result.
bool put_on_board(Board& board, int rank, std::uint64_t number, const Bytes& input,
                  const std::function<bool()>& stop) {
  if (input.size() > kMostBytes) return false;
  if (!wait_until([&] { return board.all([&](Place& one) { return one.taken >= number; }); }, stop))
    return false;
  Place& mine = board.place(rank);
  if (!input.empty()) std::memcpy(mine.input.data(), input.data(), input.size());
  mine.put = number + 1;
  return wait_until([&] { return board.all([&](Place& one) { return one.put > number; }); }, stop);
}

const void* on_board(const Board& board, int rank) { return board.place(rank).input.data(); }

void take_from_board(Board& board, int rank, std::uint64_t number) {
  board.place(rank).taken = number + 1;
}

}  // namespace railgauge::fake
