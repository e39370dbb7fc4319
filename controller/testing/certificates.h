// An authority of its own for tests, with certificates of any subject, by openssl.
#pragma once

#include <grpcpp/grpcpp.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controller/config.h"

namespace railgauge::testing_agent {

inline std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Certificates {
 public:
  // Makes the authority and the controller's certificate in `folder`.
  explicit Certificates(std::string folder) : folder_(std::move(folder)) {
    shell(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca "
        "-keyout ca.key -out ca.crt && printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' >san");
    sign("controller", "/CN=localhost", "-extfile san");
  }
  void sign(const std::string& name, const std::string& subject,
            const std::string& more = "") const {
    shell(fmt::format(
        "openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {0}.key -subj "
        "'{1}' -out {0}.req && openssl x509 -req -in {0}.req -CA ca.crt -CAkey ca.key "
        "-CAcreateserial -days 2 {2} -out {0}.crt && chmod 0600 {0}.key",
        name, subject, more));
  }
  // Writes the authority's revocation list, with this certificate and those before it; "": with no
  // other one.
  void revoke(const std::string& name) const {
    const std::string openssl_ca = "openssl ca -config crl.conf -cert ca.crt -keyfile ca.key ";
    shell(fmt::format(
        "printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=revoked\\ndefault_md=sha256\\n"
        "default_crl_days=9\\n' >crl.conf && touch revoked && ({} || {}-revoke {}.crt) && {}"
        "-gencrl -out crl.draft && mv crl.draft crl.pem",
        name.empty() ? "true" : "false", openssl_ca, name, openssl_ca));
  }
  [[nodiscard]] std::string crl() const { return path("crl.pem"); }
  [[nodiscard]] TcpOptions tcp() const {
    TcpOptions options;
    options.listen = "127.0.0.1:0";
    options.tls_cert = path("controller.crt");
    options.tls_key = path("controller.key");
    options.tls_ca = path("ca.crt");
    return options;
  }
  [[nodiscard]] std::shared_ptr<grpc::ChannelCredentials> of(const std::string& name) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = text_of_file(path("ca.crt"));
    options.pem_private_key = text_of_file(path(name + ".key"));
    options.pem_cert_chain = text_of_file(path(name + ".crt"));
    return grpc::SslCredentials(options);
  }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void shell(const std::string& command) const {
    const int status =
        std::system(fmt::format("cd {} && ({}) >log 2>&1", folder_, command).c_str());
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << "\n"
                                                               << text_of_file(path("log"));
  }

  const std::string folder_;
};

// A channel with a connection of its own: gRPC shares connections of like channels otherwise.
inline std::shared_ptr<grpc::Channel> connection(
    const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials =
                                   grpc::InsecureChannelCredentials()) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

}  // namespace railgauge::testing_agent
