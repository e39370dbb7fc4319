// The real program as a process against a fake controller, for tests.
#pragma once

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/fake_archive.h"
#include "controller/cli/testing/fake_control.h"
#include "controller/cli/testing/fake_judge.h"
#include "kernels/core/base/handle.h"

namespace railgauge::cli {

using Words = std::vector<std::string>;

inline constexpr double kChildSeconds = 30;  // longer than any child needs

struct DescriptorTraits {
  using Type = int;
  static int empty() { return -1; }
  static void release(int descriptor) { close(descriptor); }
};
using Descriptor = Handle<DescriptorTraits>;

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Process : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "railgauge_cli_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    address_ = "unix:" + folder_ + "/controller.sock";
    const char* build = std::getenv("RAILGAUGE_BUILD_DIR");
    ASSERT_NE(build, nullptr) << "ctest sets it";
    program_ = std::string(build) + "/bin/railgauge";
  }
  void TearDown() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
    std::filesystem::remove_all(folder_);
  }

  void serve(bool has_judge = true) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(&control_.service());
    builder.RegisterService(&archive_.service());
    if (has_judge) builder.RegisterService(&judge_.service());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  // Serves with mutual TLS on a loopback port, with certificates that deploy/pki.sh makes below
  // folder_.
  void serve_tls() {
    make_certificate("ca " + folder_ + "/pki");
    make_certificate("controller " + folder_ + "/pki localhost 127.0.0.1");
    make_certificate("operator " + folder_ + "/pki alice");
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = file_text(folder_ + "/pki/ca.crt");
    options.pem_key_cert_pairs.push_back(
        {file_text(folder_ + "/pki/controller.key"), file_text(folder_ + "/pki/controller.crt")});
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
    builder.RegisterService(&control_.service());
    builder.RegisterService(&archive_.service());
    builder.RegisterService(&judge_.service());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    address_ = "127.0.0.1:" + std::to_string(port);
  }

  static void make_certificate(const std::string& words) {
    const std::string command = "deploy/pki.sh " + words + " > /dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT: a fixed command of this test
  }

  [[nodiscard]] Words certificates(const std::string& name, const std::string& folder) const {
    const std::string base = folder_ + "/" + folder + "/" + name;
    return {"--tls-cert",  base + ".crt", "--tls-key",
            base + ".key", "--tls-ca",    folder_ + "/" + folder + "/ca.crt"};
  }

  // Starts the program; `err` replaces its stderr file, `out` its stdout file.
  void start(const Words& words, int err = -1, const std::string& out = "") {
    Words all{program_, "--controller", address_};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& word : all) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string out_path = out.empty() ? folder_ + "/out" : out;
    const std::string err_path = folder_ + "/err";
    const Descriptor out_file(
        open(out_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const Descriptor err_file(
        open(err_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    ASSERT_GE(out_file.get(), 0);
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      dup2(out_file.get(), STDOUT_FILENO);
      dup2(err >= 0 ? err : err_file.get(), STDERR_FILENO);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
  }

  // The exit code, or minus the signal; -1000 when it does not end in time.
  int wait_for_end() {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(kChildSeconds);
    int status = 0;
    while (waitpid(child_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > end) return -1000;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    child_ = -1;
    out_ = file_text(folder_ + "/out");
    err_ = file_text(folder_ + "/err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  int run(const Words& words) {
    start(words);
    return wait_for_end();
  }

  // Everything that the program shows on a terminal until it ends; `given` is the program's end of
  // it.
  static std::string read_to_the_end(const Descriptor& terminal, Descriptor& given) {
    given.reset();
    std::string shown;
    char chunk[4096];
    // The read fails (EIO) when the program has ended and nobody holds the other end.
    for (ssize_t got = 0; (got = read(terminal.get(), chunk, sizeof chunk)) > 0;)
      shown.append(chunk, static_cast<std::size_t>(got));
    return shown;
  }

  // Waits until the program's messages hold `text`.
  bool wait_for_message(const std::string& text) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(kChildSeconds);
    while (std::chrono::steady_clock::now() < end) {
      if (file_text(folder_ + "/err").find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  // Runs jq over what the program printed; true when the filter's last value is true.
  [[nodiscard]] bool jq(const std::string& filter) const {
    const std::string command = "jq -e '" + filter + "' " + folder_ + "/out > /dev/null";
    return std::system(command.c_str()) == 0;  // NOLINT: a fixed command of this test
  }

  const std::unique_ptr<FakeControl> fake_control_ = FakeControl::create();
  const std::unique_ptr<FakeArchive> fake_archive_ = FakeArchive::create();
  const std::unique_ptr<FakeJudge> fake_judge_ = FakeJudge::create();
  FakeControl& control_ = *fake_control_;
  FakeArchive& archive_ = *fake_archive_;
  FakeJudge& judge_ = *fake_judge_;
  std::unique_ptr<grpc::Server> server_;
  std::string folder_;
  std::string address_;
  std::string program_;
  pid_t child_ = -1;
  std::string out_;
  std::string err_;
};

}  // namespace railgauge::cli
