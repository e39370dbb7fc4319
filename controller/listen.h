// The settings of the TCP port and its credentials: mutual TLS; plain TCP only on request.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "kernels/core/base/result.h"

namespace railgauge {

// The settings of the TCP port.
struct TcpOptions {
  std::string listen;  // HOST:PORT; "": no TCP
  std::string tls_cert;
  std::string tls_key;
  std::string tls_ca;
  bool insecure = false;
};
// Checks the options. kInvalidArgument: TCP without certificates and without --insecure, an
// incomplete set of files, or both certificates and --insecure.
Status check_tcp_options(const TcpOptions& options);
// Makes credentials for mutual TLS, or for plain TCP with --insecure. kInvalidArgument: a file, by
// name, cannot be read, or certificate and key do not match.
Result<std::shared_ptr<grpc::ServerCredentials>> tcp_credentials(const TcpOptions& options);

}  // namespace railgauge
