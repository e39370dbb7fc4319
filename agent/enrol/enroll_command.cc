#include "agent/enrol/enroll_command.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "agent/enrol/enrol_client.h"
#include "agent/enrol/enrolled_files.h"
#include "agent/enrol/settings_edit.h"
#include "agent/os/atomic_file.h"
#include "controller/trust/enrolment_token.h"
#include "controller/trust/identity_uri.h"
#include "controller/trust/signing_request.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/owners_rights.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/settings_file.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr std::size_t kMostTokenBytes = 4'096;
constexpr std::size_t kMostNameBytes = 64;  // of a CN
constexpr mode_t kSettingsMode = 0644;
constexpr double kServiceSeconds = 60;
constexpr const char* kService = "railgauge-agent.service";

std::string host_of_this_node() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string read_some(std::istream& from, std::size_t most) {
  std::string text(most, '\0');
  from.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(from.gcount()));
  return text;
}

// From the flag, the file or stdin; exactly one of them.
Result<trust::EnrolmentToken> token_of(const EnrollCommand& command) {
  if (command.token.empty() == command.token_file.empty())
    return fail(Code::kInvalidArgument,
                "--token TOKEN or --token-file FILE is needed; railgauge tokens create on the "
                "controller's host makes one");
  if (!command.token.empty()) return trust::parse_enrolment_token(command.token);
  if (command.token_file == "-")
    return trust::parse_enrolment_token(read_some(std::cin, kMostTokenBytes));
  std::ifstream file(command.token_file);
  if (!file)
    return fail(Code::kInvalidArgument,
                fmt::format("--token-file {}: read: {}", command.token_file, errno_words(errno)));
  return trust::parse_enrolment_token(read_some(file, kMostTokenBytes));
}

// The controller checks it too; this refusal costs no call.
Status check_node_name(const std::string& name) {
  if (trust::is_good_name(name) && name.size() <= kMostNameBytes) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--name {}: letters, digits, '.', '_' and '-' are needed, at most {} "
                          "bytes",
                          in_quotes(name), kMostNameBytes));
}

// The text of the settings file; "" without one.
Result<std::string> settings_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (!std::filesystem::exists(path)) return std::string();
    return fail(Code::kPermissionDenied, fmt::format("{}: read: {}", path, errno_words(errno)));
  }
  std::string text = read_some(file, kMaxSettingsFileBytes + 1);
  if (text.size() <= kMaxSettingsFileBytes) return text;
  return fail(Code::kInvalidArgument, fmt::format("{}: too large for a settings file", path));
}

// All that is known before a certificate is asked for.
struct Plan {
  std::string name{};
  EnrolServer server{};
  Authority authority{};
  EditedSettings settings{};
};

// The name that the agent will have: the flag's, that of its settings, or the host's.
std::string name_of(const EnrollCommand& command, std::string_view settings) {
  if (!command.name.empty()) return command.name;
  const std::string set = setting_in(settings, "name");
  return set.empty() ? host_of_this_node() : set;
}

// Makes the plan: the authority that answers, and the settings file as it is to be. Nothing of it
// costs a use of the token, so that a fault of the settings does not either.
Result<Plan> plan_of(const EnrollCommand& command, const trust::EnrolmentToken& token,
                     const trust::PemFiles& files, double now_unix) {
  const std::string before = RG_TRY(settings_text(command.config));
  Plan plan{.name = name_of(command, before),
            .server = RG_TRY(parse_enrol_server(command.controller))};
  RG_TRY_OK(check_node_name(plan.name));
  plan.authority = RG_TRY(ask_authority(plan.server, token, now_unix));
  Wanted wanted{{"controller", plan.server.with_port(plan.authority.agent_port)},
                {"tls_ca", files.authority},
                {"tls_cert", files.certificate},
                {"tls_key", files.key},
                {"renew_from", plan.server.with_port(plan.server.port)}};
  if (plan.name != host_of_this_node()) wanted.emplace_back("name", plan.name);
  plan.settings = RG_TRY(edit_settings(
      before, command.config, wanted,
      fmt::format("Written by railgauge-agent enroll at {}", rfc3339(now_unix)), command.force));
  return plan;
}

// The file is for everybody to read: it has paths and addresses, no secret.
Status write_settings(const std::string& path, const EditedSettings& settings) {
  if (!settings.is_changed) return {};
  const std::filesystem::path file(path);
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  return write_atomically(folder, file.filename().string(), settings.text, kSettingsMode);
}

// The controller's word about itself is not enough: name, times and key have to be right.
Status check_received(const trust::Certificate& certificate, const std::string& name,
                      double now_unix) {
  if (node_of(certificate) != name)
    return fail(Code::kInternal,
                fmt::format("the controller's certificate is for {}, not for node {}",
                            in_quotes(node_of(certificate)), name));
  if (certificate.from_unix <= now_unix && now_unix < certificate.until_unix) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("the certificate is valid from {} to {}, and this node's clock shows {}; "
                          "set it, as by chronyc makestep",
                          rfc3339(certificate.from_unix), rfc3339(certificate.until_unix),
                          rfc3339(now_unix)));
}

// Runs a program of the path, with this process's streams, for a minute at most.
// Whether the command ended with 0.
bool runs_well(std::vector<std::string> argv) {
  const auto child = start_program({.argv = std::move(argv), .searches_path = true});
  if (!child) return false;
  const auto status = wait_for_end(*child, kServiceSeconds);
  return status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
}

// A service that runs gets the new settings by a restart.
Status start_service() {
  std::error_code error;
  if (!std::filesystem::is_directory("/run/systemd/system", error)) {
    std::printf("service: not started, since systemd does not run here\n");
    return {};
  }
  if (runs_well({"systemctl", "enable", kService}) &&
      runs_well({"systemctl", "restart", kService})) {
    std::printf("service: %s is enabled and started\n", kService);
    return {};
  }
  return fail(Code::kUnavailable,
              fmt::format("the node is enrolled, but systemctl did not start {}; see systemctl "
                          "status {}",
                          kService, kService));
}

int complain_of(const Error& error) {
  std::fprintf(stderr, "railgauge-agent: enroll: %s\n", printable(error.message).c_str());
  return error.code == Code::kInvalidArgument ? kExitUsage : kExitInvalid;
}

}  // namespace

// Defaults are said in words, since those of the machine differ from node to node.
CLI::App* declare_enroll(CLI::App& app, EnrollCommand& command) {
  CLI::App* enroll = app.add_subcommand(
      "enroll", "get a certificate by a token, write the settings, start the service");
  enroll->option_defaults()->always_capture_default(false)->group("Options");
  enroll->add_option("--controller", command.controller,
                     "HOST or HOST:PORT of the controller's enrolment port [:7444]");
  enroll->add_option("--token", command.token, "as railgauge tokens create printed it");
  enroll->add_option("--token-file", command.token_file, "file with the token; - is stdin");
  enroll->add_option("--name", command.name, "name of this node [the host's name]");
  enroll->add_option("--state-dir,--state-folder", command.state_dir,
                     "folder of the agent, for key and certificates [/var/lib/railgauge-agent]");
  enroll->add_option("--config", command.config,
                     "settings file that is written [/etc/railgauge/agent.conf]");
  enroll->add_flag("--force", command.force,
                   "enrol an enrolled node anew, and replace keys of the settings file");
  enroll->add_flag("--no-start", command.no_start, "leave the service alone");
  return enroll;
}

// Settings are written last: an agent that starts meanwhile has either nothing or all of it.
Result<EnrolledNode> enroll_node(const EnrollCommand& command, double now_unix) {
  const trust::EnrolmentToken token = RG_TRY(token_of(command));
  RG_TRY_OK(NodeFiles::make_state(command.state_dir));
  // The service's user has the state folder, and may have put links into it.
  std::optional<OwnersRights> rights(RG_TRY(OwnersRights::take(command.state_dir)));
  NodeFiles files = RG_TRY(NodeFiles::open(command.state_dir));
  const auto held = files.held();
  if (held && !command.force && held->own.until_unix > now_unix)
    return fail(
        Code::kAlreadyExists,
        fmt::format("{}: this node is enrolled as {}, serial {}, until {}; --force enrols it "
                    "anew",
                    files.folder(), node_of(held->own), held->own.id.serial,
                    rfc3339(held->own.until_unix)));
  const Plan plan = RG_TRY(plan_of(command, token, files.files(), now_unix));
  // From here on a second call does the same again, with the same key.
  const std::string key = RG_TRY(files.staged_key());
  const std::string request = RG_TRY(trust::make_request(plan.name, key));
  const std::string ca_file = RG_TRY(files.stage_authority(plan.authority.certificate));
  const std::string certificate = RG_TRY(ask_certificate(plan.server, ca_file, token, request));
  // Before anything is put in place: a wrong answer leaves the node as it was.
  RG_TRY_OK(check_received(RG_TRY(trust::parse_certificate(certificate)), plan.name, now_unix));
  const trust::Material placed = RG_TRY(files.place(certificate, plan.authority.certificate));
  rights.reset();
  RG_TRY_OK(write_settings(command.config, plan.settings));
  return EnrolledNode{.name = plan.name,
                      .controller = plan.server.with_port(plan.authority.agent_port),
                      .folder = files.folder(),
                      .serial = placed.own.id.serial,
                      .until_unix = placed.own.until_unix,
                      .replaced = plan.settings.replaced};
}

int run_enroll_command(const EnrollCommand& command) {
  ::signal(SIGPIPE, SIG_IGN);
  const auto node = enroll_node(command, unix_now());
  if (!node) return complain_of(node.error());
  std::printf("node %s: certificate, serial %s, until %s; the agent renews it by itself\n",
              node->name.c_str(), node->serial.c_str(), rfc3339(node->until_unix).c_str());
  std::printf("files: %s; settings: %s; controller: %s\n", node->folder.c_str(),
              command.config.c_str(), node->controller.c_str());
  for (const std::string& line : node->replaced)
    std::printf("replaced in the settings: %s\n", printable(line).c_str());
  if (command.no_start) return kExitPassed;
  const Status started = start_service();
  return started ? kExitPassed : complain_of(started.error());
}

}  // namespace railgauge::agent
