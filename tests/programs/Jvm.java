// SPDX-License-Identifier: MIT
/* Work of known counts for tests/live/test_jvm.py: `java Jvm` says ready, waits for a line, works, says done, waits. */
public class Jvm {
	static int fib(int n)
	{
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	}

	public static void main(String[] args) throws Exception
	{
		System.out.println("ready");
		System.in.read();
		for (int i = 0; i < 20; i++)
			Thread.sleep(2);
		for (int i = 0; i < 3; i++)
			System.gc();
		fib(8);
		System.out.println("done");
		System.in.read();
		Runtime.getRuntime().halt(0);
	}
}
