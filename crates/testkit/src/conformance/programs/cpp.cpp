#include <chrono>
#include <iostream>
#include <string>
#include <thread>

int main(int argc, char **argv) {
    std::cout << "ready\n";
    std::this_thread::sleep_for(std::chrono::seconds(1));
    for (std::string line; std::getline(std::cin, line);) std::cout << "got " << line << '\n';
    for (int i = 1; i < argc; i++) std::cout << "arg [" << argv[i] << "]\n";
    std::cerr << "oops\n";
    return 3;
}
