import java.util.Scanner;

public class Behaviour {
    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        Thread.sleep(1000);
        Scanner input = new Scanner(System.in);
        while (input.hasNextLine()) System.out.println("got " + input.nextLine());
        for (String argument : args) System.out.println("arg [" + argument + "]");
        System.err.println("oops");
        System.exit(3);
    }
}
