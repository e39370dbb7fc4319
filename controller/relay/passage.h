// One connection on its way to gRPC: ends TLS, looks at the client's frames, and moves bytes
// between the TCP socket and a socket pair whose other end gRPC has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "controller/relay/allowance.h"
#include "controller/relay/frame_guard.h"
#include "controller/trust/tls_channel.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge::relay {

// Keeps bytes only while a side does not take them: at most 16 KiB a direction. Not thread safe.
// Times are seconds of one clock that never falls.
class Passage {
 public:
  // Handshake and preface together; then the connection is closed. Less than HandedOver's.
  static constexpr double kGreetSeconds = 8;
  // A client that takes less than a chunk in so long is gone: one byte a second keeps no place.
  static constexpr double kStallSeconds = 30;
  // Work of a TLS record without data.
  static constexpr std::uint32_t kEmptyRecordWork = 100;
  // Bytes of one read, so that many connections share a thread fairly.
  static constexpr std::size_t kChunkBytes = std::size_t{16} * 1'024;

  enum class Next {
    kWait,       // for an event of a descriptor, or for due()
    kAgain,      // more can be done now
    kKnown,      // the handshake has ended: set the allowance with admit()
    kIntroduce,  // the client speaks HTTP/2: give gRPC its end and call open()
    kEnd,        // close the connection; reason() is why
  };

  // `tls` is absent for plain HTTP/2. `outer` is non-blocking.
  Passage(Fd outer, const std::shared_ptr<const trust::TlsServer>& tls, double now);

  ~Passage();
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

  // Does what can be done without waiting.
  Next turn(double now);
  // The client or the port has closed the connection: what is held up needs no more waiting.
  void hang_up() { hung_up_ = true; }
  // The client's certificate, after kKnown. kInvalidArgument: it cannot be read.
  [[nodiscard]] Result<trust::Certificate> certificate() const { return tls_->peer(); }
  void admit(std::shared_ptr<Allowance> allowance);
  // Takes the end of the socket pair that gRPC has not; non-blocking.
  void open(Fd inner);

  // The time of the next turn without an event.
  [[nodiscard]] double due() const { return due_; }
  // Why the connection ends; "" when one side closed it.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] bool is_known() const { return stage_ >= Stage::kPreface; }
  [[nodiscard]] bool is_open() const { return stage_ == Stage::kOpen; }
  // Times that the client had to wait for its allowance, since the last call.
  std::uint64_t take_pauses() { return std::exchange(pauses_, 0); }
  [[nodiscard]] int outer() const { return outer_.get(); }
  [[nodiscard]] int inner() const { return inner_.get(); }

 private:
  enum class Stage { kHandshake, kUnknown, kPreface, kOpen };
  using Bytes = std::span<const std::uint8_t>;

  Next greet(double now);
  Next end(std::string reason);
  // Each direction reports whether it moved something, so that more may follow.
  bool pass_in(double now);
  bool pass_out(double now);
  trust::TlsChannel::Moved read_outer(std::span<std::uint8_t> to);
  trust::TlsChannel::Moved write_outer(Bytes from);
  trust::TlsChannel::Moved write_inner(Bytes from);
  bool look(Bytes bytes, double now);
  bool is_paused(double now);

  const Fd outer_;
  std::unique_ptr<trust::TlsChannel> tls_;  // uses outer_
  Fd inner_{};
  Stage stage_ = Stage::kHandshake;
  FrameGuard guard_;
  std::shared_ptr<Allowance> allowance_;
  std::vector<std::uint8_t> in_;   // for gRPC, which does not take it yet
  std::vector<std::uint8_t> out_;  // for the client, likewise
  bool inner_ended_ = false;
  bool outer_ended_ = false;
  bool hung_up_ = false;
  const double greet_until_;
  std::size_t unfinished_ = 0;  // as the allowance has it
  double paused_until_ = 0;
  std::uint64_t pauses_ = 0;
  double stalled_since_ = 0;  // when out_ began to wait; 0: it is empty
  double due_;
  std::string reason_;
};

}  // namespace railgauge::relay
