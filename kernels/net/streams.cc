#include "kernels/net/streams.h"

#include <system_error>

#include <fmt/format.h>

#include "kernels/core/cpu_time.h"

namespace railgauge::net {
namespace {

std::optional<std::size_t> first_failed(const std::vector<std::unique_ptr<Work>>& work) {
  for (std::size_t number = 0; number < work.size(); ++number)
    if (work[number]->failed) return number;
  return std::nullopt;
}

void join_all(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads) thread.join();
  threads.clear();
}

// One thread a stream; those that did start are joined by the owner's end.
template <class Run>
Status start_threads(std::size_t count, std::vector<std::thread>& threads, Run run) {
  try {
    for (std::size_t number = 0; number < count; ++number)
      threads.emplace_back([run, number] { run(number); });
  } catch (const std::system_error& error) {
    return fail(Code::kResourceExhausted,
                fmt::format("net: start a thread for stream {}: {}", threads.size(), error.what()));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Senders>> Senders::start(std::span<Pipe> pipes, std::uint64_t message_bytes,
                                                std::size_t size_index, std::uint32_t rank) {
  std::unique_ptr<Senders> made(new Senders);
  for (std::size_t number = 0; number < pipes.size(); ++number) {
    made->messages_.push_back(RG_TRY(HostBuffer::allocate(message_bytes)));
    fill_pattern(made->messages_.back().span().first(message_bytes),
                 Sender{size_index, rank, number}.seed());
    made->work_.push_back(std::make_unique<Work>());
  }
  Senders* const self = made.get();
  RG_TRY_OK(start_threads(pipes.size(), made->threads_, [=](std::size_t number) {
    self->run(pipes[number], self->messages_[number].span().first(message_bytes),
              *self->work_[number]);
  }));
  return made;
}

void Senders::run(Pipe& pipe, std::span<const std::byte> message, Work& work) {
  std::uint64_t bytes = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (!pipe.send_all(message)) {
      work.failed = true;
      break;
    }
    bytes += message.size();
  }
  work.bytes = bytes;
  work.cpu_ns = thread_cpu_ns();
}

void Senders::stop() {
  stop_ = true;
  join_all(threads_);
}

std::optional<std::size_t> Senders::failed_stream() const { return first_failed(work_); }

Result<std::unique_ptr<Receivers>> Receivers::start(std::span<Pipe> pipes,
                                                    std::uint64_t message_bytes) {
  std::unique_ptr<Receivers> made(new Receivers);
  made->pipes_ = pipes;
  made->message_bytes_ = message_bytes;
  for (std::size_t number = 0; number < pipes.size(); ++number) {
    made->messages_.push_back(RG_TRY(HostBuffer::allocate(message_bytes)));
    made->work_.push_back(std::make_unique<Work>());
  }
  Receivers* const self = made.get();
  RG_TRY_OK(start_threads(pipes.size(), made->threads_,
                          [self](std::size_t number) { self->run(number); }));
  return made;
}

void Receivers::run(std::size_t number) {
  Pipe& pipe = pipes_[number];
  Work& work = *work_[number];
  const auto buffer = messages_[number].span().first(message_bytes_);
  std::uint64_t bytes = 0;
  std::uint64_t at = 0;  // in the message
  double since_ns = 0;
  for (;;) {
    if (knows_expected_ && bytes >= expected_[number]) break;
    const std::ptrdiff_t got = pipe.receive_some(buffer.subspan(at), since_ns);
    if (got < 0) {
      work.failed = true;
      pipe.shut_down();  // the sender need not fill the socket first
      break;
    }
    bytes += static_cast<std::uint64_t>(got);
    at += static_cast<std::uint64_t>(got);
    if (at == message_bytes_) at = 0;
  }
  work.bytes = bytes;
  work.cpu_ns = thread_cpu_ns();
}

Status Receivers::finish(std::span<const std::uint64_t> sent_bytes) {
  if (sent_bytes.size() != work_.size())
    return fail(Code::kInternal, fmt::format("net: the other side sent on {} streams, not on {}",
                                             sent_bytes.size(), work_.size()));
  expected_.assign(sent_bytes.begin(), sent_bytes.end());
  knows_expected_ = true;
  join_all(threads_);
  for (std::size_t number = 0; number < work_.size(); ++number) {
    if (work_[number]->failed) return tl::unexpected(pipes_[number].failure());
    if (work_[number]->bytes != expected_[number])
      return fail(Code::kDataLoss, fmt::format("net: stream {} brought {} bytes, expected {}",
                                               number, work_[number]->bytes, expected_[number]));
  }
  return {};
}

Status Receivers::verify(std::size_t size_index, std::uint32_t from_rank,
                         const std::string& who) const {
  for (std::size_t number = 0; number < messages_.size(); ++number) {
    if (work_[number]->bytes == 0) continue;  // of the smallest runs: another stream had it all
    RG_TRY_OK(verify_message(messages_[number].span().first(message_bytes_),
                             {size_index, from_rank, number}, who));
  }
  return {};
}

std::optional<std::size_t> Receivers::failed_stream() const { return first_failed(work_); }

void Receivers::give_up() {
  if (threads_.empty()) return;
  for (const Pipe& pipe : pipes_) pipe.shut_down();
  join_all(threads_);
}

}  // namespace railgauge::net
