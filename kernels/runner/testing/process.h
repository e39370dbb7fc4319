// A program under test: started with pipes, watched with deadlines. For tests only.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/group/framing.h"

namespace railgauge::testing_process {

inline constexpr double kPatienceSeconds = 30;  // a test that waits so long has failed

// The path of a program of this build.
std::string program(const std::string& name);

struct Ended {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  std::string out;
  std::string err;
};

// Killed when it goes out of scope.
class Process {
 public:
  // `agent_pipes` adds "--task --request-fd N --record-fd M" and keeps the other ends.
  explicit Process(std::vector<std::string> arguments, bool agent_pipes = false,
                   std::vector<std::string> environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Everything it printed, and how it ended; kills it after kPatienceSeconds.
  Ended wait();
  // Waits until stderr holds `text`; false after kPatienceSeconds or at its end.
  bool wait_for_stderr(const std::string& text);
  // "127.0.0.1:PORT" once it says that it listens there.
  std::string listening_address();

  // With agent pipes.
  void tell(const ToRunner& message);
  // The same to one that may have ended already; false when it has.
  bool offer(const ToRunner& message) const;
  void close_request_pipe() { request_.reset(); }
  // The next message of the runner; nullopt at its end. Garbage fails a CHECK.
  std::optional<FromRunner> hear();

 private:
  bool pump(double deadline_ns);

  pid_t pid_ = -1;
  Fd out_;
  Fd err_;
  Fd request_;
  Fd record_;
  std::string out_text_;
  std::string err_text_;
  FrameReader frames_;
};

}  // namespace railgauge::testing_process
