#include "controller/cli/mcp/serve.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "controller/cli/mcp/reads.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli::mcp {
namespace {

// Lines of a descriptor, each of kMostLine bytes at most. Not thread safe.
class Lines {
 public:
  // `wake`: a descriptor that is readable when nobody waits for lines any more.
  Lines(int input, int wake) : input_(input), wake_(wake) {}

  struct Line {
    std::string text{};
    bool is_too_long = false;
  };
  // The next line; nothing at the end of the input, or once `wake` is readable. kInternal: a
  // failed read.
  Result<std::optional<Line>> next() {
    while (true) {
      if (const std::size_t end = held_.find('\n'); end != std::string::npos) {
        Line line{.text = held_.substr(0, end), .is_too_long = is_skipping_ || end > kMostLine};
        held_.erase(0, end + 1);
        is_skipping_ = false;
        if (line.is_too_long) line.text.clear();
        return line;
      }
      if (held_.size() > kMostLine) {
        held_.clear();
        is_skipping_ = true;
      }
      if (has_ended_) break;
      if (!RG_TRY(read_more())) return std::nullopt;
    }
    // A last line may lack its end.
    if (held_.empty() && !is_skipping_) return std::nullopt;
    Line line{.text = std::move(held_), .is_too_long = is_skipping_};
    held_.clear();
    is_skipping_ = false;
    return line;
  }

 private:
  // Whether the caller may continue.
  Result<bool> read_more() {
    std::array<pollfd, 2> ready{pollfd{.fd = input_, .events = POLLIN, .revents = 0},
                                pollfd{.fd = wake_, .events = POLLIN, .revents = 0}};
    if (poll(ready.data(), ready.size(), -1) < 0) {
      if (errno == EINTR) return true;
      return fail(Code::kInternal, "mcp: stdin: poll: {}", errno_words(errno));
    }
    if (ready[1].revents != 0) return false;
    std::array<char, 65'536> chunk{};
    const ssize_t got = read(input_, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (got < 0) return fail(Code::kInternal, "mcp: stdin: read: {}", errno_words(errno));
    held_.append(chunk.data(), static_cast<std::size_t>(got));
    has_ended_ = got == 0;
    return true;
  }

  const int input_;  // not owned, as the next
  const int wake_;
  std::string held_;          // read and not yet a line; bounded by kMostLine and one chunk
  bool is_skipping_ = false;  // the line's begin was dropped
  bool has_ended_ = false;
};

}  // namespace

Result<int> serve(Protocol& protocol, int input, std::ostream& out, Interrupts& interrupts) {
  const Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail(Code::kInternal, "mcp: eventfd: {}", errno_words(errno));
  const Interrupts::Hook hook(interrupts, [&wake] { eventfd_write(wake.get(), 1); });
  Lines lines(input, wake.get());
  while (!interrupts.any()) {
    const auto line = RG_TRY(lines.next());
    if (!line) break;
    const std::optional<std::string> answer =
        line->is_too_long ? Protocol::answer_to_long_line() : protocol.answer(line->text);
    if (!answer) continue;
    out << *answer << '\n' << std::flush;
    if (!out.good()) break;  // its reader has left
  }
  return interrupts.any() ? kExitInterrupted : kExitPassed;
}

}  // namespace railgauge::cli::mcp

namespace railgauge::cli {

// Answers are JSON, whose own escapes make them safe; nothing but answers is on stdout.
Result<int> serve_assistant(Session& session, const Arguments&) {
  const Output& outer = session.output;
  outer.mark->is_shown = true;  // by each answer
  const Output output{.out = outer.out,
                      .err = outer.err,
                      .format = Format::kJson,
                      .is_quiet = outer.is_quiet,
                      .mark = outer.mark};
  Session inner{.stubs = session.stubs,
                .output = output,
                .interrupts = session.interrupts,
                .address = session.address,
                .connected = session.connected,
                .again = session.again,
                .answer_seconds = session.answer_seconds};
  mcp::Reads reads(inner);
  const auto log = [&output](const std::string& line) { print_notice(output, line); };
  mcp::Protocol protocol(reads, log);
  log("mcp: answers lines of stdin until it ends; an assistant's program is meant to start it");
  return mcp::serve(protocol, STDIN_FILENO, output.out, inner.interrupts);
}

}  // namespace railgauge::cli
