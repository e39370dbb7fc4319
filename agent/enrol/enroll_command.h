// `railgauge-agent enroll`: gets this node a certificate by a token, writes the agent's settings
// and starts its service.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace CLI {
class App;
}

namespace railgauge::agent {

// The flags of the command.
struct EnrollCommand {
  std::string controller{};  // HOST or HOST:PORT of the enrolment port
  std::string token{};
  std::string token_file{};  // "-" is standard input
  std::string name{};        // of this node; "": the host's
  std::string state_dir = "/var/lib/railgauge-agent";
  std::string config = "/etc/railgauge/agent.conf";
  bool force = false;     // enrols anew, replaces keys of the settings file
  bool no_start = false;  // leaves the service alone
};

// Declares the subcommand with its flags. `command` outlives `app`.
CLI::App* declare_enroll(CLI::App& app, EnrollCommand& command);

// The order is: settings and authority looked at, key and request made, the token used, files put
// in place, settings written, service started. An error before the files leaves what was before.
// Carries it out, prints what was done, and returns the exit code. A node that is enrolled already
// is left as it is without --force. A call that was ended half way is finished by the next one,
// with the same key, or with the certificate that is in place.
int run_enroll_command(const EnrollCommand& command);

// The part without printing and services: what run_enroll_command() would say. Errors are one line.
struct EnrolledNode {
  std::string name{};
  std::string controller{};  // HOST:PORT of the settings
  std::string folder{};      // of key and certificates
  std::string settings{};    // the file that was written
  std::string serial{};
  double until_unix = 0;
  std::vector<std::string> replaced{};  // settings that had another value
  bool is_rest = false;                 // an earlier call got the certificate
};
// The call stays open until end_enroll_call(): the next one does what may be left.
Result<EnrolledNode> enroll_node(const EnrollCommand& command, double now_unix);
Status end_enroll_call(const EnrollCommand& command);

}  // namespace railgauge::agent
