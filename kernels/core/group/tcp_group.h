// The rendezvous seam over TCP, for two or more ranks without agent and controller. One side
// listens and relays: it collects every rank's payload and sends all of them to each rank. The
// roles are no ranks: with two ranks, `--connect` is rank 0, which measures and prints, and
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

// The port where none is named, and the ranks of one group at most.
inline constexpr std::uint16_t kDefaultGroupPort = 7479;
inline constexpr std::uint32_t kMaxTcpRanks = 64;

// The ends exchange `task` first: kernel, revision, size (the ranks of the task) and parameters
// must be the same on all; leave out parameters that may differ from end to end. `facts` and
// `endpoint` are not compared. A difference ends both sides with kInvalidArgument and one line that
// names it, another version of the contract with kAborted.

// A listening socket that forms one group after the other. Not thread safe.
class TcpListener {
 public:
  // "[ADDR:]PORT". Errors: kInvalidArgument, kUnavailable (taken), kPermissionDenied.
  static Result<TcpListener> bind(std::string_view address);

  // As bound, with the port that the system chose.
  [[nodiscard]] const TcpAddress& address() const { return address_; }

  // Waits for the other `task.size() - 1` ranks; they get the free ranks in order of arrival. A
  // stranger's bytes (a port scanner, an HTTP request) are refused and waiting continues. May be
  // called again for the next run. kDeadlineExceeded has the number of arrived ranks.
  Result<std::unique_ptr<Group>> accept(const Started& task, std::uint32_t own_rank,
                                        double timeout_seconds);

  // Connections that were no Railgauge peer, since bind.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  // A connection that has not greeted yet, and the time until which it may.
  struct Pending {
    FrameStream stream;
    double deadline_ns;
    bool joined = false;
  };

  TcpListener(Fd socket, TcpAddress address)
      : socket_(std::move(socket)), address_(std::move(address)) {}
  Status take_waiting(std::vector<Pending>& pending, double deadline_ns);
  void wait(const std::vector<Pending>& pending, double deadline_ns) const;
  // True when this one is settled: joined, or refused. Fails when it is a peer that runs otherwise.
  Result<bool> greet(Pending& one, const Started& task, std::uint32_t rank);
  void refuse(const Pending& pending, std::string_view why);

  Fd socket_;
  TcpAddress address_;
  // Strangers since bind(), and the last one's address and fault.
  std::uint64_t refused_ = 0;
  std::string last_refusal_;
};

// Joins the listener at "HOST[:PORT]", trying again while nobody listens there yet. Errors:
// kUnavailable, kDeadlineExceeded, and those above.
Result<std::unique_ptr<Group>> join_tcp_group(std::string_view address, const Started& task,
                                              double timeout_seconds);

}  // namespace railgauge
