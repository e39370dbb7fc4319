// The rendezvous seam over TCP, for two or more ranks without agent and controller. One side
// listens and relays: it collects every rank's payload and sends all payloads to each rank. The
// role does not fix the rank: with two ranks, `--connect` is rank 0, which measures and prints, and
// `--listen` is rank 1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"
#include "kernels/core/group/tcp.h"

namespace railgauge {

// The default port, and the most ranks of one group.
inline constexpr std::uint16_t kDefaultGroupPort = 7479;
inline constexpr std::uint32_t kMaxTcpRanks = 64;

// Both ends exchange `task` first. Kernel, revision, size (the ranks of the task) and parameters
// must be equal on all ranks, so omit parameters that may differ between ends. `facts` and
// `endpoint` are not compared. A difference ends both sides with kInvalidArgument and one line that
// names the difference; another version of the contract ends them with kAborted.

// A listening socket that forms one group after another. Not thread safe.
class TcpListener {
 public:
  // Listens at "[ADDR:]PORT". Errors: kInvalidArgument, kUnavailable (port taken),
  // kPermissionDenied.
  static Result<TcpListener> bind(std::string_view address);

  // Returns the bound address, with the port that the system chose.
  [[nodiscard]] const TcpAddress& address() const { return address_; }

  // Waits for the other `task.size() - 1` ranks, which get the free ranks in order of arrival.
  // Bytes of a stranger (a port scanner, an HTTP request) are refused, and the wait continues. May
  // be called again for the next run. The text of kDeadlineExceeded has the number of ranks that
  // arrived.
  Result<std::unique_ptr<Group>> accept(const Started& task, std::uint32_t own_rank,
                                        double timeout_seconds);

  // Returns the number of refused strangers since bind().
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  // A connection that has not greeted yet, and its deadline for greeting.
  struct Pending {
    FrameStream stream;
    double deadline_ns;
    bool joined = false;
  };

  TcpListener(Fd socket, TcpAddress address)
      : socket_(std::move(socket)), address_(std::move(address)) {}
  Status take_waiting(std::vector<Pending>& pending, double deadline_ns);
  void wait(const std::vector<Pending>& pending, double deadline_ns) const;
  // Returns true when the connection is settled: joined or refused. Fails for a peer with another
  // task.
  Result<bool> greet(Pending& one, const Started& task, std::uint32_t rank);
  void refuse(const Pending& pending, std::string_view why);

  Fd socket_;
  TcpAddress address_;
  // Strangers since bind(), and the address and fault of the last one.
  std::uint64_t refused_ = 0;
  std::string last_refusal_;
};

// Joins the listener at "HOST[:PORT]", retrying while nothing listens there. Errors: kUnavailable,
// kDeadlineExceeded, and the ones of a differing task above.
Result<std::unique_ptr<Group>> join_tcp_group(std::string_view address, const Started& task,
                                              double timeout_seconds);

}  // namespace railgauge
