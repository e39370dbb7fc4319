// Secrets go from every bundle, redacted or not.
#pragma once

#include <string>
#include <string_view>

namespace railgauge::cli {

// Without private keys in PEM, and without the values of what is called a password, token, secret,
// credential, key for access or the like, however it is written: NAME=value, "name": "value" (also
// inside of a JSON text in JSON), --name value, name: value, "Authorization: ...", "Bearer ...",
// and the user's part of a URL. What is called otherwise stays: texts have to be read.
std::string without_secrets(std::string_view text);

}  // namespace railgauge::cli
