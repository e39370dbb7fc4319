// The link over mutual TLS, with certificates that openssl makes for the test.
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/link/link.h"
#include "agent/os/subprocess.h"
#include "agent/testing/fake_controller.h"
#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {

constexpr double kOpensslSeconds = 20;
constexpr std::size_t kOutputBytes = 1U << 20U;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class LinkTls : public testing::Test {
 protected:
  TempDir folder_;

  bool shell(const std::string& script) const {
    const auto output = run_command({"/bin/sh", "-ec", "cd " + folder_.path() + "\n" + script},
                                    kOpensslSeconds, kOutputBytes);
    return output && output->wait_status == 0;
  }
  // CA.pem and NAME.pem, NAME.key signed by it.
  bool make_ca(const std::string& ca) const {
    return shell(
        fmt::format("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                    "-days 1 -subj /CN={0} -keyout {0}.key -out {0}.pem",
                    ca));
  }
  bool make_certificate(const std::string& name, const std::string& ca) const {
    return shell(fmt::format(
        "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={0} "
        "-keyout {0}.key -out {0}.csr\n"
        "echo subjectAltName=IP:127.0.0.1 > {0}.ext\n"
        "openssl x509 -req -in {0}.csr -CA {1}.pem -CAkey {1}.key -CAcreateserial -days 1 "
        "-extfile {0}.ext -out {0}.pem",
        name, ca));
  }
  std::unique_ptr<FakeController> controller(const std::string& ca) const {
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = text_of(folder_ / (ca + ".pem"));
    options.pem_key_cert_pairs.push_back(
        {text_of(folder_ / "controller.key"), text_of(folder_ / "controller.pem")});
    return std::make_unique<FakeController>("127.0.0.1:0", grpc::SslServerCredentials(options));
  }
  // Returns the first event of a link with this agent's files.
  LinkEvent first_event(int port, const std::string& agent, const std::string& ca) const {
    LinkOptions options;
    options.controller = fmt::format("127.0.0.1:{}", port);
    options.tls_cert = folder_ / (agent + ".pem");
    options.tls_key = folder_ / (agent + ".key");
    options.tls_ca = folder_ / (ca + ".pem");
    Link link(options, [] {});
    link.set_hello({});
    link.start();
    for (int i = 0; i < 2000; ++i) {
      const auto events = link.take();
      if (!events.empty()) return events.front();
      ::usleep(5000);
    }
    return {};
  }
};

TEST_F(LinkTls, BothSidesShowACertificateOfTheCa) {
  if (!shell("openssl version")) GTEST_SKIP() << "openssl is not installed";
  ASSERT_TRUE(make_ca("ca") && make_ca("other"));
  ASSERT_TRUE(make_certificate("controller", "ca") && make_certificate("agent", "ca"));
  ASSERT_TRUE(make_certificate("stranger", "other"));
  const auto server = controller("ca");
  EXPECT_EQ(first_event(server->port(), "agent", "ca").kind, LinkEvent::Kind::kAttached);
  // An agent of another CA is refused, and so is a controller of another CA.
  EXPECT_EQ(first_event(server->port(), "stranger", "ca").kind, LinkEvent::Kind::kLost);
  EXPECT_EQ(first_event(server->port(), "agent", "other").kind, LinkEvent::Kind::kLost);
  EXPECT_EQ(FakeController::hellos(server->heard()), 1);
}

}  // namespace
}  // namespace railgauge::agent
