#include "controller/relay/passage.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace railgauge::relay {
namespace {

using trust::TlsChannel;
using State = TlsChannel::State;
using Moved = TlsChannel::Moved;

constexpr double kNever = std::numeric_limits<double>::infinity();

Moved moved(ssize_t size) {
  if (size > 0) return {State::kDone, static_cast<std::size_t>(size)};
  const bool blocked = size < 0 && (errno == EAGAIN || errno == EINTR);
  return {blocked ? State::kBlocked : State::kEnded, 0};
}

Moved receive(int fd, std::span<std::uint8_t> to) {
  return moved(::recv(fd, to.data(), to.size(), MSG_DONTWAIT));
}

Moved send(int fd, std::span<const std::uint8_t> from) {
  return moved(::send(fd, from.data(), from.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

}  // namespace

Passage::Passage(Fd outer, const std::shared_ptr<const trust::TlsServer>& tls, double now)
    : outer_(std::move(outer)),
      tls_(tls == nullptr ? nullptr : std::make_unique<TlsChannel>(*tls, outer_.get())),
      greet_until_(now + kGreetSeconds),
      due_(greet_until_) {}

Passage::~Passage() {
  if (allowance_ != nullptr) allowance_->change_unfinished(unfinished_, 0);
}

void Passage::admit(std::shared_ptr<Allowance> allowance) {
  allowance_ = std::move(allowance);
  stage_ = Stage::kPreface;
}

void Passage::open(Fd inner) {
  inner_ = std::move(inner);
  stage_ = Stage::kOpen;
}

Passage::Next Passage::end(std::string reason) {
  reason_ = std::move(reason);
  return Next::kEnd;
}

Passage::Next Passage::turn(double now) {
  if (stage_ != Stage::kOpen) return greet(now);
  bool more = pass_in(now);
  if (!reason_.empty() || outer_ended_) return Next::kEnd;
  more = pass_out(now) || more;
  if (outer_ended_) return Next::kEnd;
  if (inner_ended_ && out_.empty()) {
    if (tls_ != nullptr) tls_->finish();
    ::shutdown(outer_.get(), SHUT_WR);
    return Next::kEnd;
  }
  due_ = paused_until_ > now ? paused_until_ : kNever;
  if (stalled_since_ > 0) {
    if (now - stalled_since_ >= kStallSeconds)
      return end(
          fmt::format("takes less than {} KiB in {:.0f} s", kChunkBytes >> 10U, kStallSeconds));
    due_ = std::min(due_, stalled_since_ + kStallSeconds);
  }
  return more ? Next::kAgain : Next::kWait;
}

// Handshake and preface, one read a turn. The bytes behind the preface wait in in_ for gRPC.
Passage::Next Passage::greet(double now) {
  if (hung_up_) return Next::kEnd;
  if (now >= greet_until_) return end("no TLS handshake and HTTP/2 preface in time");
  if (stage_ == Stage::kHandshake) {
    const State state = tls_ == nullptr ? State::kDone : tls_->shake_hands();
    if (state == State::kBlocked) return Next::kWait;
    if (state != State::kDone) return end("its TLS handshake failed");
    stage_ = Stage::kUnknown;
    return Next::kKnown;
  }
  if (guard_.has_preface()) return Next::kIntroduce;
  due_ = greet_until_;
  if (is_paused(now)) {
    due_ = std::min(due_, paused_until_);
    return Next::kWait;
  }
  std::array<std::uint8_t, kChunkBytes> bytes;  // NOLINT(*-member-init): read below
  const Moved read = read_outer(bytes);
  if (read.state == State::kBlocked) return Next::kWait;
  if (read.state == State::kEnded) return Next::kEnd;
  if (read.state == State::kBusy) {
    allowance_->take(kEmptyRecordWork, now);
    return Next::kAgain;
  }
  const Bytes taken = std::span(bytes).first(read.bytes);
  if (!look(taken, now)) return Next::kEnd;
  in_.insert(in_.end(), taken.begin(), taken.end());
  return guard_.has_preface() ? Next::kIntroduce : Next::kAgain;
}

// Counts what the client's bytes make gRPC do, before gRPC has them. False: they break a rule.
bool Passage::look(Bytes bytes, double now) {
  const auto work = guard_.from_client(bytes);
  if (!work) {
    reason_ = work.error().message;
    return false;
  }
  allowance_->take(*work, now);
  const std::size_t before = std::exchange(unfinished_, guard_.unfinished_bytes());
  if (allowance_->change_unfinished(before, unfinished_)) return true;
  reason_ =
      fmt::format("messages without an end beyond {} MiB", Allowance::kMostUnfinishedBytes >> 20U);
  return false;
}

// Before each read: other connections of the peer may have taken what this one waited for.
bool Passage::is_paused(double now) {
  if (paused_until_ > now) return true;
  const double wait = allowance_->wait(now);
  if (wait > 0 && paused_until_ == 0) ++pauses_;
  paused_until_ = wait > 0 ? now + wait : 0;
  return wait > 0;
}

bool Passage::pass_in(double now) {
  if (!in_.empty()) {
    const Moved written = write_inner(in_);
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(written.bytes));
    if (written.bytes == 0 && hung_up_) outer_ended_ = true;
    return written.bytes > 0;
  }
  if (is_paused(now)) {
    if (hung_up_) outer_ended_ = true;
    return false;
  }
  std::array<std::uint8_t, kChunkBytes> bytes;  // NOLINT(*-member-init): read below
  const Moved read = read_outer(bytes);
  if (read.state == State::kEnded) outer_ended_ = true;
  if (read.state == State::kBusy) allowance_->take(kEmptyRecordWork, now);
  if (read.state != State::kDone) return read.state == State::kBusy;
  const Bytes taken = std::span(bytes).first(read.bytes);
  if (!look(taken, now)) return false;
  const std::size_t written = write_inner(taken).bytes;
  in_.assign(taken.begin() + static_cast<std::ptrdiff_t>(written), taken.end());
  return true;
}

bool Passage::pass_out(double now) {
  if (!out_.empty()) {
    const Moved written = write_outer(out_);
    if (written.state == State::kEnded) outer_ended_ = true;
    out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(written.bytes));
    if (out_.empty()) stalled_since_ = 0;
    return written.bytes > 0;
  }
  if (inner_ended_) return false;
  std::array<std::uint8_t, kChunkBytes> bytes;  // NOLINT(*-member-init): read below
  const Moved read = receive(inner_.get(), bytes);
  if (read.state == State::kEnded) inner_ended_ = true;
  if (read.state != State::kDone) return false;
  const Bytes taken = std::span(bytes).first(read.bytes);
  guard_.from_server(taken);
  allowance_->change_unfinished(std::exchange(unfinished_, guard_.unfinished_bytes()),
                                guard_.unfinished_bytes());
  const Moved written = write_outer(taken);
  if (written.state == State::kEnded) outer_ended_ = true;
  out_.assign(taken.begin() + static_cast<std::ptrdiff_t>(written.bytes), taken.end());
  if (!out_.empty()) stalled_since_ = now;
  return true;
}

Moved Passage::read_outer(std::span<std::uint8_t> to) {
  return tls_ != nullptr ? tls_->read(to) : receive(outer_.get(), to);
}

Moved Passage::write_outer(Bytes from) {
  return tls_ != nullptr ? tls_->write(from) : send(outer_.get(), from);
}

// gRPC that has closed its end takes all: its last bytes are passed on still. Any other error would
// leave a gap in the frames.
Moved Passage::write_inner(Bytes from) {
  const Moved written = send(inner_.get(), from);
  if (written.state != State::kEnded) return written;
  if (errno != EPIPE && errno != ECONNRESET) outer_ended_ = true;
  return {State::kDone, from.size()};
}

}  // namespace railgauge::relay
