#include "controller/listen.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace railgauge {
namespace {

Result<std::string> read_pem(const char* flag, const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return fail(Code::kInvalidArgument,
                fmt::format("--{} {}: read: {}", flag, path, std::strerror(errno)));
  if (text.str().find("-----BEGIN ") == std::string::npos)
    return fail(Code::kInvalidArgument, fmt::format("--{} {}: no PEM file", flag, path));
  return text.str();
}

}  // namespace

Status check_tcp_options(const TcpOptions& options) {
  const int files = (options.tls_cert.empty() ? 0 : 1) + (options.tls_key.empty() ? 0 : 1) +
                    (options.tls_ca.empty() ? 0 : 1);
  constexpr int kAll = 3;
  if (files != 0 && files != kAll)
    return fail(Code::kInvalidArgument, "--tls-cert, --tls-key and --tls-ca are needed together");
  if (files == kAll && options.insecure)
    return fail(Code::kInvalidArgument, "--insecure and certificates exclude each other");
  if (!options.listen.empty() && files == 0 && !options.insecure)
    return fail(
        Code::kInvalidArgument,
        fmt::format("--listen {}: TCP needs --tls-cert, --tls-key and --tls-ca, or --insecure",
                    options.listen));
  return {};
}

Result<std::shared_ptr<grpc::ServerCredentials>> tcp_credentials(const TcpOptions& options) {
  if (options.insecure) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = RG_TRY(read_pem("tls-ca", options.tls_ca));
  std::string key = RG_TRY(read_pem("tls-key", options.tls_key));
  std::string certificate = RG_TRY(read_pem("tls-cert", options.tls_cert));
  tls.pem_key_cert_pairs.push_back({std::move(key), std::move(certificate)});
  return grpc::SslServerCredentials(tls);
}

}  // namespace railgauge
