// SPDX-License-Identifier: Apache-2.0
package app;

import greet.Greet;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Tests without a library for tests: each throws when it fails. */
public final class AppTest {
    interface Test {
        void run() throws Exception;
    }

    private AppTest() {
    }

    static void expect(Object expected, Object got) {
        if (!expected.equals(got)) {
            throw new AssertionError(expected + " expected, not " + got);
        }
    }

    static void testJar() {
        expect("hello from a jar", Greet.greet());
    }

    static void testThreads() throws Exception {
        var pool = Executors.newFixedThreadPool(100);
        List<Future<Long>> all = new ArrayList<>();
        long sum = 0;
        for (long i = 0; i < 100; i++) {
            final long number = i;
            all.add(pool.submit(() -> number * number));
        }
        for (var one : all) {
            sum += one.get();
        }
        pool.shutdown();
        expect(328350L, sum);
    }

    static void testProcesses() throws Exception {
        var child = new ProcessBuilder("sh", "-c", "echo $((40 + 2))").start();
        expect("42\n", new String(child.getInputStream().readAllBytes()));
        expect(0, child.waitFor());
    }

    static void testLoopback() throws Exception {
        try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            var answering = new Thread(() -> {
                try (Socket socket = server.accept()) {
                    socket.getOutputStream().write("hello".getBytes());
                } catch (java.io.IOException problem) {
                    throw new java.io.UncheckedIOException(problem);
                }
            });
            answering.start();
            try (var socket = new Socket(server.getInetAddress(), server.getLocalPort());
                    InputStream input = socket.getInputStream()) {
                expect("hello", new String(input.readAllBytes()));
            }
            answering.join();
        }
    }

    /** Two gigabytes of garbage, one megabyte at a time. */
    static void testMemory() throws Exception {
        long sum = 0;
        for (int i = 0; i < 2000; i++) {
            sum += new byte[1 << 20].length >> 20;
        }
        expect(2000L, sum);
        Files.writeString(Path.of(System.getProperty("java.io.tmpdir"), "mark"), "x");
        expect("/home/agent", System.getProperty("user.home"));
    }

    public static void main(String[] arguments) throws Exception {
        Test[] tests = { AppTest::testJar, AppTest::testThreads, AppTest::testProcesses,
            AppTest::testLoopback, AppTest::testMemory };
        for (Test test : tests) {
            test.run();
        }
        System.out.println(tests.length + " tests passed");
    }
}
