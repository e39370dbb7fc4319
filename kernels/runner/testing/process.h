// A program under test, started with pipes and limited by deadlines. For tests only.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/group/framing.h"

namespace railgauge::testing_process {

inline constexpr double kPatienceSeconds = 30;  // limit of every wait of a test

// Returns the path of a program of this build.
std::string program(const std::string& name);

struct Ended {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  std::string out;
  std::string err;
};

// A process that is killed at the end of its scope.
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
  // Waits for the end and returns all output; kills the process after kPatienceSeconds.
  Ended wait();
  // Waits until stderr contains `text`. False: the process ended, or kPatienceSeconds passed.
  bool wait_for_stderr(const std::string& text);
  // Waits for the message that it listens, and returns "127.0.0.1:PORT".
  std::string listening_address();

  // Sends a message. Needs agent pipes, as all calls below.
  void tell(const ToRunner& message);
  // Sends to a process that may have ended. False: it has ended.
  bool offer(const ToRunner& message) const;
  void close_request_pipe() { request_.reset(); }
  // Returns the runner's next message; nullopt at its end. Garbage fails a CHECK.
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
