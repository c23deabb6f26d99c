// SPDX-License-Identifier: Apache-2.0
#include "tools/workloads/app/network_app.h"

int main(int argc, char** argv) {
  return workloads::RunNetworkApp(argc, argv, {"mobilenet", 0, [](workloads::InputSize input, int) {
                                                 return workloads::MobileNetV1(input);
                                               }});
}
